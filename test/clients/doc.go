// Command clients lets foreign MCP clients use agent-mcp: each starts agent_run and goes on until the task is completed,
// over the transports and in the protocol eras that it has. The model is scripted; what counts is the file that the task
// writes and the client's own word that it is completed.
//
// The clients are pinned: those of npm by a lock file, codex by the manifest, mcp-go by its own go.mod.
package main
