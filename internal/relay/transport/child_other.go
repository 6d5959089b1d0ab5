//go:build !linux

package transport

import (
	"context"
	"runtime"

	"sekisho/internal/fault"
)

// StartChild refuses: on this system nothing here ends a child and all its descendants for certain yet (R-CONN-10).
func StartChild(context.Context, ChildOptions) (Conn, *Child, error) {
	return nil, nil, fail(Config, fault.ConnectionUnsupported, fault.Arg("system", runtime.GOOS))
}

// SuperviseChild reports false: no process is started as a supervisor on this system.
func SuperviseChild() bool { return false }

// supervisor is what a stdio connection needs of one.
type supervisor struct{}

func (*supervisor) stop()       {}
func (*supervisor) wait() error { return nil }
