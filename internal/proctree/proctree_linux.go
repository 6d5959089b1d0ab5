package proctree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Identify returns the identity of a process that exists now, or ErrGone. A zombie exists.
func Identify(pid int) (ID, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return ID{}, ErrGone
	}
	if err != nil {
		return ID{}, err
	}
	// The second field is the program's name in parentheses and may hold anything; field 22 is the start time.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return ID{}, fmt.Errorf("/proc/%d/stat is malformed", pid)
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return ID{}, fmt.Errorf("/proc/%d/stat is malformed: %w", pid, err)
	}
	return ID{PID: pid, Start: start}, nil
}

// Kill ends the identified process and no other one. ErrGone means that it had already ended.
func Kill(id ID) error {
	fd, err := open(id)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return err
}

// Parent returns a channel that is closed when the process that started this one ends. stop, called once, ends the watch
// and waits for it; the channel then stays as it is. A process whose parent is outside its PID namespace has none to watch.
func Parent() (gone <-chan struct{}, stop func(), err error) {
	ch := make(chan struct{})
	ppid := os.Getppid()
	if ppid == 0 {
		return ch, func() {}, nil
	}
	fd, err := unix.PidfdOpen(ppid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) || err == nil && os.Getppid() != ppid {
		if err == nil {
			unix.Close(fd)
		}
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

// Wait returns when the identified process has ended (at once if it is gone already), or with ctx's error.
func Wait(ctx context.Context, id ID) error {
	fd, err := open(id)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	defer context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })()
	if err := wait(f); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
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

func open(id ID) (int, error) {
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return -1, ErrGone
	}
	if err != nil {
		return -1, fmt.Errorf("opening process %d: %w", id.PID, err)
	}
	// The descriptor is bound to whoever has the id now; the start time tells whether that is the one we mean.
	now, err := Identify(id.PID)
	if err == nil && now != id {
		err = ErrGone
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
