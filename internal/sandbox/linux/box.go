//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox/linux/cgroup"
	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/launcher"
	"sekisho/internal/sandbox/linux/wire"
)

// box is one live confinement: PID 1, its socket and the servers around it. It is built once and destroyed once.
type box struct {
	proc  *launcher.Process
	conn  *wire.Conn
	group cgroup.Group // nil in a throw-away sandbox

	// copies are the approved scripts of which this box has a private copy: their places in its program, by path.
	copies map[string]int
	// root is the root that PID 1 made, to look from.
	root *os.File

	gone     chan struct{} // closed when PID 1 has ended, and with it its whole pid namespace
	exceeded chan struct{} // receives once when a fork was refused, or the limit of tasks was reached

	forks *filter.Forks  // counts processes while a run is followed
	alarm *alarm         // ends the wait of whoever follows a run
	once  sync.Once      // closes both, and conn
	cut   func()         // ends what goes through the listeners; nil without any
	owned sync.WaitGroup // every goroutine of this box
}

// reply is one message of PID 1 with its descriptors.
type reply struct {
	wire.Reply
	files []*os.File
}

// serve prepares the counting of what runs. It takes notify over.
func (x *box) serve(notify *os.File, limit int) (err error) {
	count := func() ([]int, error) {
		if x.group == nil {
			return nil, nil
		}
		if err := x.starved(); err != nil {
			return nil, err
		}
		all, err := x.group.Procs()
		rest := all[:0]
		for _, pid := range all {
			if pid != x.proc.Pid {
				rest = append(rest, pid)
			}
		}
		return rest, err
	}
	if x.group == nil {
		limit = 16
	}
	x.forks, err = filter.Listen(notify, count, limit, x.exceeded)
	return err
}

// starved asks the kernel whether the limit of tasks was reached, and says on exceeded if it was.
func (x *box) starved() error {
	if x.group == nil {
		return nil
	}
	yes, err := x.group.Starved()
	if err == nil && yes {
		select {
		case x.exceeded <- struct{}{}:
		default:
		}
	}
	return err
}

// wait waits for the end of PID 1. The kernel lets it end only after every other process of its pid namespace.
func (x *box) wait() {
	x.proc.Wait() // a failure to wait ends the box as well
	close(x.gone)
}

// next waits for PID 1's next message, while it builds.
func (x *box) next(ctx context.Context) (reply, error) {
	stop := context.AfterFunc(ctx, x.alarm.ring)
	defer stop()
	for {
		fds := []unix.PollFd{{Fd: int32(x.conn.FD()), Events: unix.POLLIN}, {Fd: x.alarm.fd(), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			return reply{}, fmt.Errorf("waiting for PID 1: %w", err)
		}
		if fds[0].Revents != 0 {
			return x.take()
		}
		x.alarm.quiet()
		if err := ctx.Err(); err != nil {
			return reply{}, err
		}
	}
}

// take is the message that is there. What is not understood ends the connection: nothing more of it is believed.
func (x *box) take() (reply, error) {
	var r reply
	files, err := x.conn.Try(&r.Reply)
	if err != nil {
		return reply{}, errGone
	}
	if len(files) != r.Descriptors() {
		wire.CloseAll(files)
		return reply{}, errGone
	}
	r.files = files
	return r, nil
}

// errGone reports that PID 1 ended by itself.
var errGone = fault.New(fault.SandboxLost)

// destroy kills the tree and returns when all of it is proven dead: PID 1 was reaped, and the cgroup is empty. After an
// error it may be called again.
func (x *box) destroy(ctx context.Context) error {
	if err := x.proc.Kill(); err != nil {
		return fmt.Errorf("killing PID 1 of the sandbox: %w", err)
	}
	select {
	case <-x.gone:
	case <-ctx.Done():
		return fmt.Errorf("waiting for PID 1 of the sandbox: %w", ctx.Err())
	}
	x.once.Do(func() {
		x.conn.Close()
		if x.forks != nil {
			x.forks.Close()
		}
		if x.alarm != nil {
			x.alarm.close()
		}
	})
	if x.cut != nil {
		x.cut()
		x.cut = nil
	}
	x.owned.Wait()
	if x.root != nil {
		x.root.Close()
	}
	if x.group == nil {
		return nil
	}
	var err error
	if left, perr := x.group.Procs(); perr != nil || len(left) > 0 {
		err = x.group.Kill(ctx)
	}
	return errors.Join(err, x.group.Close())
}
