//go:build linux

package filter

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// listener is the receiving end of the filter's notifications.
type listener struct {
	file *os.File
	over bool // no restricted process is left
}

// fd is what to poll, or -1.
func (l *listener) fd() int {
	if l.over {
		return -1
	}
	return int(l.file.Fd())
}

// notification is the part of struct seccomp_notif that is read here; the arguments were judged by the filter.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32 // struct seccomp_data from here
	_     [60]byte
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	error int32
	flags uint32
}

// The ioctl numbers of include/uapi/linux/seccomp.h; their sizes are those of the structs of Linux 5.0.
const (
	ioctlRecv = 0xc0502100
	ioctlSend = 0xc0182101

	ioctlSetFlags = 0x40082104
	syncWakeUp    = 1 // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
)

// listen takes the descriptor over.
func listen(notify *os.File) (*listener, error) {
	l := &listener{file: notify}
	// Whoever asks sleeps until the answer, so that both may as well use one processor, one after the other. Kernels before 6.6
	// do not know the hint, which is nothing but that.
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd()), ioctlSetFlags, syncWakeUp); errno != 0 && errno != unix.EINVAL {
		notify.Close()
		return nil, fmt.Errorf("preparing the fork listener: %w", errno)
	}
	return l, nil
}

// receive takes the notification that poll(2) has told of, if there is one: the kernel's receive call would wait for one whatever
// O_NONBLOCK says.
func (l *listener) receive(ready int16) (*notification, error) {
	if ready&unix.POLLIN == 0 {
		if ready&unix.POLLHUP != 0 {
			l.over = true // the last restricted task is gone
		}
		return nil, nil // POLLERR: a signal interrupted the kernel's look at the queue
	}
	got := notification{}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, l.file.Fd(), ioctlRecv, uintptr(unsafe.Pointer(&got)))
	switch errno {
	case 0:
		return &got, nil
	case unix.ENOENT, unix.EINTR: // the asking thread died meanwhile
		return nil, nil
	}
	return nil, fmt.Errorf("waiting for a fork: %w", errno)
}

// answer lets the system call go on or fails it; delivered is false when the asking thread is gone.
func (l *listener) answer(id uint64, ok bool, failure unix.Errno) (delivered bool, err error) {
	resp := response{id: id, error: -int32(failure)}
	if ok {
		resp = response{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, l.file.Fd(), ioctlSend, uintptr(unsafe.Pointer(&resp)))
	switch {
	case errno == 0:
		return true, nil
	case errors.Is(errno, unix.ENOENT):
		return false, nil
	}
	return false, fmt.Errorf("answering a notification: %w", errno)
}
