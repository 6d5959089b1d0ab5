//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sekisho/internal/fileop"
)

// watch waits for the kernel's word about memory in a goroutine of its own.
type watch struct {
	seen   chan struct{}
	source *os.File // inotify or eventfd, non-blocking
	ended  chan struct{}
}

// start runs the goroutine: a read returns after each event; then happened decides.
func start(source *os.File, happened func() (bool, error)) *watch {
	w := &watch{seen: make(chan struct{}), source: source, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		buf := make([]byte, 4096)
		for {
			_, err := source.Read(buf)
			if errors.Is(err, os.ErrClosed) {
				return
			}
			yes := true // a watch that fails counts as an alarm
			if err == nil {
				if yes, err = happened(); err != nil && errors.Is(err, unix.ENODEV) {
					return // the group was removed
				}
			}
			if yes || err != nil {
				close(w.seen)
				return
			}
		}
	}()
	return w
}

func (w *watch) close() {
	w.source.Close()
	<-w.ended
}

// watchEvents watches memory.events of version 2, which the kernel reports to inotify when it changes.
func watchEvents(dir *os.File) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watching memory: %w", err)
	}
	source := os.NewFile(uintptr(fd), "memory.events watch")
	before, err := counter(dir, "memory.events", "oom_kill")
	if err == nil {
		_, err = unix.InotifyAddWatch(fd, "/proc/self/fd/"+strconv.Itoa(int(dir.Fd()))+"/memory.events", unix.IN_MODIFY)
	}
	if err != nil {
		source.Close()
		return nil, fmt.Errorf("watching memory of control group %s: %w", dir.Name(), err)
	}
	return start(source, func() (bool, error) {
		now, err := counter(dir, "memory.events", "oom_kill")
		return now > before, err
	}), nil
}

// watchOOM registers an eventfd with version 1's memory.oom_control. Removing the group signals it too.
func watchOOM(files fileop.FS, dir *os.File) (*watch, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watching memory: %w", err)
	}
	source := os.NewFile(uintptr(fd), "memory.oom_control watch")
	control, err := openControl(dir, "memory.oom_control", unix.O_RDONLY)
	if err == nil {
		defer control.Close()
		err = write(files, dir, "cgroup.event_control", fmt.Sprintf("%d %d", fd, control.Fd()))
	}
	if err != nil {
		source.Close()
		return nil, fmt.Errorf("watching memory of control group %s: %w", dir.Name(), err)
	}
	return start(source, func() (bool, error) {
		_, err := read(dir, "memory.oom_control")
		if errors.Is(err, unix.ENOENT) {
			err = unix.ENODEV
		}
		return true, err
	}), nil
}

// counter reads one line "name value" of a file.
func counter(dir *os.File, file, name string) (int, error) {
	text, err := read(dir, file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			return strconv.Atoi(f[1])
		}
	}
	return 0, fmt.Errorf("reading %s of control group %s: no %s in it", file, dir.Name(), name)
}
