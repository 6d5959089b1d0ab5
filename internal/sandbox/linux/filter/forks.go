//go:build linux

package filter

import (
	"context"
	"os"
)

// Counter lists the processes (not threads) of the confined tree without PID 1, by ids of the caller's PID namespace.
type Counter func() ([]int, error)

// ServeForks answers every fork of the confined tree: it goes on while fewer than limit processes exist or were
// granted, and fails with EAGAIN otherwise; then one value is sent on exceeded (never blocking: give it room for one)
// and the caller ends the tree with resource.process_limit (A-SBX-02).
//
// It runs in the broker's process, never in PID 1: the restricted thread's own forks wait for it too. It takes notify
// over and closes it on return. It returns nil when the last restricted process is gone, ctx's error when ctx ends, and any
// other error when counting or answering became impossible; every later fork then fails.
func ServeForks(ctx context.Context, notify *os.File, procs Counter, limit int, exceeded chan<- struct{}) error {
	panic("skeleton")
}
