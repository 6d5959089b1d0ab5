// Package guard is a list of guards: places in the product whose removal must turn a named test red. The command in the
// folder above removes them, one at a time, without touching the tree.
package guard

// Guard is one check of the product and how to take it out.
type Guard struct {
	// Name says in words what the guard stops.
	Name string
	// IDs are the requirements that fail without it.
	IDs []string
	// File is relative to the module's root. Cut occurs exactly once in it and is replaced by Put for the run.
	File, Cut, Put string
	// Package holds Test, the top-level test that must pass with the guard and fail without it.
	Package, Test string
	// Sandbox is true for tests that make real sandboxes: they are built without cgo (see `make sandbox`).
	Sandbox bool
}

// All returns every guard, in the order of the rooms.
func All() []Guard {
	var all []Guard
	for _, room := range [][]Guard{sandboxGuards, scriptGuards, unchangedGuards, fileGuards, agentGuards, relayGuards} {
		all = append(all, room...)
	}
	return all
}
