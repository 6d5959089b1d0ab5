// Package e2ecore drives the worker end to end: the real codex app-server on one side, a loopback model provider behind
// it, and a front end on the other that uses nothing but the worker contract. Each test asserts the wire: what was sent,
// exactly once. It needs the pinned CLIs (scripts/codex) and the build tag realcodex: make e2e-core.
package e2ecore
