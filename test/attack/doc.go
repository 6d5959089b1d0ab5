// Command attack attacks the built product through its front door: a scripted model makes the tool calls, over MCP, that a
// hostile or deceived model would make, and the programs that it starts inside try to get out.
//
// Each line is one attempt: attack case (docs/cases/sandbox-attacks.md), user, what was tried, what happened. Nothing that a
// program inside says about a refusal is believed: the judge looks at the host. Beside each refusal stands a control, the same
// attempt unconfined on a twin fixture; where it has no effect the line says blocked and shows nothing. Started by root it
// attacks as root and as an ordinary user; started by anyone else as that user.
package main
