//go:build linux

package probe

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ProcMounted reports whether the directory is a proc file system. Without one nothing here can be known, or be set up.
func ProcMounted(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Type == unix.PROC_SUPER_MAGIC
}

// Notify reports whether the kernel lets a filter notify another process (Linux 5.0) and let the call go on (5.5; the newest
// thing that can be asked for is the size of its messages, which came with the first).
func Notify() bool {
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}
