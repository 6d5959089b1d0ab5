//go:build linux

package linux

import (
	"testing"

	"golang.org/x/sys/unix"
)

func readable(t *testing.T, fd int32) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: fd, Events: unix.POLLIN}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// proves A-SBX-02
//
// Whoever cancels a run may come when the sandbox is gone and the number of the event is another file's.
func TestAnAlarmRingsNobodyElse(t *testing.T) {
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	if readable(t, a.fd()) {
		t.Error("it rings by itself")
	}
	for range 2 {
		a.ring()
		if !readable(t, a.fd()) {
			t.Error("it was not heard")
		}
	}
	a.quiet()
	if readable(t, a.fd()) {
		t.Error("it goes on")
	}
	kept, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(kept)
	a.close()
	if err := unix.Dup3(kept, int(a.fd()), unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(int(a.fd()))
	a.ring()
	if readable(t, int32(kept)) {
		t.Error("another file was written to")
	}
}
