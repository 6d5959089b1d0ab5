// Command work does real development work inside the sandbox, through the product: `make work`.
//
// agent-mcp is started on an applied configuration (profile development, one workspace, the system's own tools approved) with a
// scripted model, which only says which program is started next; everything else is real. Each job is judged by what lies on
// the host afterwards and by the exit codes that the tools reported. One line a job, then the sum; exit code 1 when one
// failed.
package main
