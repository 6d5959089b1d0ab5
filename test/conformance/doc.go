// Command conformance judges agent-mcp with the conformance suite of MCP, over HTTP: the product against two requirement
// sets, and the tasks scenarios, which need tools of their own, against the server in this directory.
//
// The suite's checks are judged one by one. What does not succeed must be listed in expected-failures.yaml with its reason
// and with what the suite says then; what is listed and succeeds, fails in another way, or does not occur, fails the run. Skipped checks and warnings did not succeed. The floor can
// never be listed.
package main
