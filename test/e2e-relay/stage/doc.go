// Command stage is what the browser tests of test/e2e-relay play on: worlds of one server (the real codex with a scripted
// model, or the scripted app-server), one worker and its endpoint, driven by JSON lines over standard input and output. It
// tells what crossed between worker and server, so that a test asserts the wire beside the page.
package main
