// Package runtime is the Agent Runtime: it alone moves agent tasks and planner tasks between states (A-RUN-01).
//
// One runner goroutine takes accepted tasks from one FIFO queue, so planning, running and applied sandbox resources exist
// for at most one of them (A-RUN-03). For each it plans with the model, opens the sandbox at the first run phase, runs the
// planner tasks by the graph's order, verifies each by evidence, and replans after a denial. An agent task becomes terminal
// only after its process tree is proven dead, and then never changes.
//
// Threat: everything the model says is a claim. What counts as done is decided from tool results alone, a claim without
// them is answered with an observation and counted, and every loop of this package ends at a limit.
package runtime
