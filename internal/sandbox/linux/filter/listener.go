//go:build linux

package filter

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// listener is the receiving end of the filter's notifications.
type listener struct {
	file *os.File
	raw  interface {
		Read(func(fd uintptr) bool) error
	}
	fd uintptr // of file: os.File.Fd would make it blocking

	runs *Runs

	mu      sync.Mutex // orders deadlines: none is set after stop
	stopped bool
	limited bool // a deadline is set
}

// stop makes the current and every later wait end at once.
func (l *listener) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.file.SetReadDeadline(time.Now())
}

func (l *listener) limit(wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	if wait == 0 && l.runs.On() {
		wait = pollEvery
	}
	if l.limited = wait > 0; l.limited {
		l.file.SetReadDeadline(time.Now().Add(wait))
	} else {
		l.file.SetReadDeadline(time.Time{})
	}
}

// begin makes a wait without an end one that ends.
func (l *listener) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped && !l.limited {
		l.limited = true
		l.file.SetReadDeadline(time.Now().Add(pollEvery))
	}
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

// listen makes the descriptor one that the Go runtime can wait for, so that waiting ends with the context.
func listen(notify *os.File) (*listener, error) {
	fd, err := unix.FcntlInt(notify.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicating the fork listener: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("preparing the fork listener: %w", err)
	}
	// Whoever asks sleeps until the answer, so that both may as well use one processor, one after the other. Kernels before 6.6
	// do not know the hint.
	unix.Syscall(unix.SYS_IOCTL, uintptr(fd), ioctlSetFlags, syncWakeUp)
	l := &listener{file: os.NewFile(uintptr(fd), notify.Name()), fd: uintptr(fd)}
	if l.raw, err = l.file.SyscallConn(); err != nil {
		l.file.Close()
		return nil, fmt.Errorf("preparing the fork listener: %w", err)
	}
	return l, nil
}

// next waits for a notification, at most the given time if it is not zero (os.ErrDeadlineExceeded); nil means that no
// restricted process is left. The kernel's receive call ignores O_NONBLOCK, so it is made only after poll said that it
// would not wait.
func (l *listener) next(wait time.Duration) (*notification, error) {
	l.limit(wait)
	var req *notification
	var failure error
	err := l.raw.Read(func(fd uintptr) bool {
		for {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if n, err := unix.Poll(poll, 0); err == unix.EINTR {
				continue
			} else if err != nil {
				failure = err
				return true
			} else if n == 0 {
				return false
			}
			if poll[0].Revents&unix.POLLIN == 0 {
				if poll[0].Revents&unix.POLLHUP != 0 {
					return true // the last restricted task is gone
				}
				continue // POLLERR: a signal interrupted the kernel's look at the queue
			}
			got := notification{}
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, ioctlRecv, uintptr(unsafe.Pointer(&got)))
			switch errno {
			case 0:
				req = &got
				return true
			case unix.ENOENT, unix.EINTR: // the asking thread died meanwhile
			default:
				failure = errno
				return true
			}
		}
	})
	if failure != nil {
		err = failure
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for a fork: %w", err)
	}
	return req, nil
}

// answer lets the system call go on or fails it; delivered is false when the asking thread is gone.
func (l *listener) answer(id uint64, ok bool, failure unix.Errno) (delivered bool, err error) {
	resp := response{id: id, error: -int32(failure)}
	if ok {
		resp = response{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, l.fd, ioctlSend, uintptr(unsafe.Pointer(&resp)))
	switch {
	case errno == 0:
		return true, nil
	case errors.Is(errno, unix.ENOENT):
		return false, nil
	}
	return false, fmt.Errorf("answering a notification: %w", errno)
}
