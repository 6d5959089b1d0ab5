//go:build linux

package seen

import (
	"math"
	"runtime"

	"golang.org/x/sys/unix"
)

// SystemClock is CLOCK_REALTIME with a timer that the kernel cancels whenever somebody sets it. Comparing clocks would not
// see one that was set back and forth between two looks.
type SystemClock struct {
	timer int // -1 when there is none, which is the same as a clock that is set all the time
}

// NewSystemClock arms the timer.
func NewSystemClock() *SystemClock {
	c := &SystemClock{timer: -1}
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return c
	}
	c.timer = fd
	runtime.AddCleanup(c, func(fd int) { unix.Close(fd) }, fd)
	if c.arm() != nil {
		c.timer = -1
	}
	return c
}

// arm sets the timer to a time that never comes.
func (c *SystemClock) arm() error {
	never := unix.ItimerSpec{Value: unix.Timespec{Sec: math.MaxInt32 * 4}}
	return unix.TimerfdSettime(c.timer, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &never, nil)
}

// Now implements Clock.
func (c *SystemClock) Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &ts); err != nil {
		return 0 // before every change there ever was
	}
	return ts.Nano()
}

// Stepped implements Clock.
func (c *SystemClock) Stepped() bool {
	var ticks [8]byte
	if c.timer < 0 {
		return true
	}
	for {
		_, err := unix.Read(c.timer, ticks[:])
		switch err {
		case unix.EAGAIN:
			return false
		case unix.EINTR:
			continue
		}
		return true // ECANCELED: it was set; the timer stays armed. Anything else is not understood.
	}
}

var _ Clock = (*SystemClock)(nil)
