// Package host opens the one sandbox backend of this operating system.
//
// Each GOOS with a backend has its own file; every other one answers preflight.unsupported_os. There is no weaker
// substitute anywhere (A-SBX-01).
package host

import "sekisho/internal/fileop"

// Options are what every backend needs from the program.
type Options struct {
	// Program is the absolute path of this product's executable: the launcher of sandboxes is the same program again. Any
	// user that the server runs as must be able to execute it.
	Program string
	// Files performs the backend's durable effects.
	Files fileop.FS
	// Cgroup is the configured sandbox.resources.cgroup, which Preflight checks; "" means "auto".
	Cgroup string
	// Network tells whether the policy has a network, so that Preflight checks what it needs.
	Network bool
}
