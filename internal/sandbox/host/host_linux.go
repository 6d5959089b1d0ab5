package host

import (
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux"
)

// Open returns the backend of this operating system. It creates nothing; Preflight tells whether it can work here.
func Open(o Options) (sandbox.Backend, error) {
	return linux.New(linux.Options{Program: o.Program, Files: o.Files, Cgroup: o.Cgroup, Network: o.Network})
}

// Child is the first thing main asks. True means that preflight started this process inside a throw-away sandbox: main
// returns at once and runs nothing else. The launcher of sandboxes ends before main: importing this package is enough.
func Child() bool { return linux.Child() }

// Close is the last thing main does: it ends the helper process that makes sandboxes and waits for it, so that nothing is
// left when this process has ended (A-STOP-01). Without it the helper ends by itself, a moment after this process.
func Close() error { return linux.Close() }
