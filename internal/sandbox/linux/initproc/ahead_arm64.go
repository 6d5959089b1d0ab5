//go:build linux

package initproc

import "golang.org/x/sys/unix"

// The flags by which glibc forks. There is no system call that is vfork alone, and clone with its flags is asked for.
const (
	aheadCall  = unix.SYS_CLONE
	aheadFlags = unix.CLONE_CHILD_SETTID | unix.CLONE_CHILD_CLEARTID | uintptr(unix.SIGCHLD)
)
