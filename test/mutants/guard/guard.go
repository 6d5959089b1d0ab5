// Package guard is a list of guards: places in the product whose removal must turn a named test red. The command in the
// folder above removes them, one at a time, without touching the tree.
package guard

import "slices"

// Guard is one check of the product and how to take it out.
type Guard struct {
	// Name says in words what the guard stops.
	Name string
	// IDs are the requirements that fail without it. The killing test proves each of them.
	IDs []string
	// In is a directory of the product, relative to the module's root. Cut occurs exactly once in the Go files of it and of the
	// directories below, tests apart, and is replaced by Put for the run: code may move within In.
	In, Cut, Put string
	// Package holds Test, the top-level test that must pass with the guard and fail, by what it asserts, without it.
	Package, Test string
}

// Family is a group of guards that stand for one kind of protection.
type Family struct {
	Name   string
	Guards []Guard
}

// Families returns every guard, in the order of the rooms.
func Families() []Family {
	return []Family{
		{"confinement: PID 1 and its descriptors", initGuards},
		{"confinement: Landlock", landlockGuards},
		{"confinement: rights that Landlock denies", rightGuards},
		{"confinement: system calls", seccompGuards},
		{"confinement: groups of system calls", groupGuards},
		{"confinement: mounts, namespaces and identity", mountGuards},
		{"confinement: network", networkGuards},
		{"confinement: resources", resourceGuards},
		{"the spare sandbox", spareGuards},
		{"programs and scripts", programGuards},
		{"programs that pass for unchanged", unchangedGuards},
		{"policy", policyGuards},
		{"files by descriptor", fileGuards},
		{"protected paths and links", protectedGuards},
		{"file transactions", transactionGuards},
		{"journal and recovery", journalGuards},
		{"tools and tasks of the agent", agentGuards},
		{"doors of agent-mcp", doorGuards},
		{"relay: requests and answers", askGuards},
		{"relay: one connection", wireGuards},
		{"relay: history and recovery", historyGuards},
		{"relay: doors of the page", pageGuards},
	}
}

// All returns the guards of all families.
func All() []Guard {
	var all []Guard
	for _, f := range Families() {
		all = append(all, f.Guards...)
	}
	return all
}

// Short returns one guard of each family, its first: enough to see that removing guards works on a machine.
func Short() []Guard {
	var first []Guard
	for _, f := range Families() {
		first = append(first, f.Guards[0])
	}
	return slices.Clip(first)
}
