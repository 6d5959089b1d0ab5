//go:build linux

package linux

import (
	"encoding/binary"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// alarm ends a wait in poll(2) from another goroutine.
type alarm struct {
	event int32

	mu     sync.Mutex
	closed bool // then the number may be somebody else's descriptor
}

func newAlarm() (*alarm, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("making an event: %w", err)
	}
	return &alarm{event: int32(fd)}, nil
}

// fd is readable once somebody rang.
func (a *alarm) fd() int32 { return a.event }

// ring may be called at any time, also when nobody waits any more.
func (a *alarm) ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		unix.Write(int(a.event), binary.NativeEndian.AppendUint64(nil, 1)) // what fails because the event is full has rung already
	}
}

// quiet forgets that somebody rang. What it was about is looked at after that.
func (a *alarm) quiet() {
	var count [8]byte
	unix.Read(int(a.event), count[:])
}

func (a *alarm) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	unix.Close(int(a.event))
}
