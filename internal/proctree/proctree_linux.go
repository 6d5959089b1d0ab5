package proctree

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Parent returns a channel that is closed when the process that started this one ends. stop, called once, ends the watch
// and waits for it; the channel then stays as it is. A process whose parent is outside its PID namespace has none to watch.
func Parent() (gone <-chan struct{}, stop func(), err error) {
	ch := make(chan struct{})
	ppid := os.Getppid()
	if ppid == 0 {
		return ch, func() {}, nil
	}
	fd, err := unix.PidfdOpen(ppid, unix.PIDFD_NONBLOCK)
	if err == nil && os.Getppid() != ppid {
		err = errors.Join(unix.ESRCH, unix.Close(fd)) // the id may be another process's by now
	}
	if errors.Is(err, unix.ESRCH) {
		close(ch)
		return ch, func() {}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("watching the parent process: %w", err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	done := make(chan struct{})
	go func() {
		defer close(done)
		if wait(f) == nil {
			close(ch)
		}
	}()
	return ch, func() {
		f.SetReadDeadline(time.Unix(1, 0))
		<-done
		f.Close()
	}, nil
}

// wait blocks in the runtime's poller until the process behind a non-blocking pidfd ends: only then it is readable.
func wait(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return err == nil && n == 1
	})
}
