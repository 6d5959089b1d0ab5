//go:build linux

package initproc

import "golang.org/x/sys/unix"

// vfork: no memory is copied for a child that executes a program.
const (
	aheadCall  = unix.SYS_VFORK
	aheadFlags = 0
)
