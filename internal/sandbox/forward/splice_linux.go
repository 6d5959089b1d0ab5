package forward

import (
	"fmt"
	"net"
	"syscall"
)

const (
	spliceMove     = 1 // SPLICE_F_MOVE
	spliceNonblock = 2 // SPLICE_F_NONBLOCK
	setPipeSize    = 1031
	congestion     = 13 // TCP_CONGESTION

	// most is how much one splice is asked for; a pipe holds less.
	most = 1 << 20
	// bulk is how much at once makes a stream: then both ends are given a chance to do more before the next look.
	bulk = 32 << 10
)

// transfer moves bytes from one connection to the other until from ends. They go through a pipe of the kernel and never come
// into this process. What to does not take waits in that pipe, and then in from's buffer.
func (f *Forwarder) transfer(to, from *net.TCPConn) error {
	in, err := from.SyscallConn()
	if err != nil {
		return err
	}
	out, err := to.SyscallConn()
	if err != nil {
		return err
	}
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	defer syscall.Close(p[0])
	defer syscall.Close(p[1])
	wide := false
	for moved := 0; ; {
		n, err := fill(in, p[1])
		if n == 0 || err != nil {
			return err
		}
		if err := drain(out, p[0], n); err != nil {
			return err
		}
		if moved += n; moved >= widenAfter && !wide {
			moved = 0
			var done func()
			if done, wide = f.widen(to, from); wide {
				defer done()
				// A user has so many pages of pipes; without more this one works as it is.
				syscall.Syscall(syscall.SYS_FCNTL, uintptr(p[1]), setPipeSize, widePipe)
			}
		}
		if n >= bulk {
			// Waking whoever waits costs more than moving what is there. On a busy machine this lets more of it come together.
			syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
		}
	}
}

// fill waits for bytes and moves them into the pipe; none without an error is the end.
func fill(in syscall.RawConn, pipe int) (n int, err error) {
	werr := in.Read(func(fd uintptr) bool {
		n, err = splice(int(fd), pipe, most)
		return err != syscall.EAGAIN
	})
	if werr != nil {
		err = werr
	}
	return n, err
}

// drain moves n bytes out of the pipe, however long that takes.
func drain(out syscall.RawConn, pipe, n int) (err error) {
	werr := out.Write(func(fd uintptr) bool {
		for n > 0 {
			var m int
			if m, err = splice(pipe, int(fd), n); err != nil {
				return err != syscall.EAGAIN
			}
			n -= m
		}
		return true
	})
	if werr != nil {
		err = werr
	}
	return err
}

func splice(from, to, n int) (int, error) {
	for {
		moved, err := syscall.Splice(from, nil, to, nil, n, spliceMove|spliceNonblock)
		if err != syscall.EINTR {
			return int(moved), err
		}
	}
}

// unpaced takes a connection over loopback out of a congestion control that spaces what it sends, where there is nothing to
// congest. A kernel that does not let it goes on as before.
func unpaced(c *net.TCPConn) {
	if raw, err := c.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, congestion, "reno") })
	}
}
