//go:build !linux

package host

import (
	"runtime"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// Open refuses: this operating system has no backend.
func Open(Options) (sandbox.Backend, error) {
	return nil, fault.New(fault.PreflightUnsupportedOS, fault.Target(runtime.GOOS))
}

// Child reports false: without a backend no process starts as the first one of a sandbox.
func Child() bool { return false }

// Close has nothing to end.
func Close() error { return nil }
