// Command bench-relay measures relaycodex beside codex-acp, the ACP adapter from npm: the same codex, a copy of the same
// thread, the same scripted model, one after the other in turns. It prints ratios; docs/benchmarks.md tells how to read them.
package main
