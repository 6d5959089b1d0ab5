//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

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

	replies  chan reply    // what PID 1 says; closed when it can say no more
	gone     chan struct{} // closed when PID 1 has ended, and with it its whole pid namespace
	exceeded chan struct{} // receives once when a fork was refused, or the limit of tasks was reached

	runs  filter.Runs        // tells the fork server when to count
	quit  chan struct{}      // closed by destroy
	once  sync.Once          // closes quit
	stop  context.CancelFunc // ends the fork server
	cut   func()             // ends what goes through the listeners; nil without any
	owned sync.WaitGroup     // every goroutine of this box
}

// reply is one message of PID 1 with its descriptors.
type reply struct {
	wire.Reply
	files []*os.File
}

// serve answers the forks of what runs until the box is destroyed.
func (x *box) serve(notify *os.File, limit int) {
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	count := func() ([]int, error) {
		// Between runs there is one process, the child that PID 1 forked ahead.
		if x.group == nil || !x.runs.On() {
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
	x.owned.Go(func() {
		if err := filter.ServeForks(ctx, notify, &x.runs, count, limit, x.exceeded); err != nil && ctx.Err() == nil {
			x.proc.Kill() // nobody counts any more, so nothing may run: the run ends as sandbox.lost
		}
	})
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

// read passes on what PID 1 says until the connection ends.
func (x *box) read() {
	defer close(x.replies)
	for {
		var r reply
		files, err := x.conn.Receive(&r.Reply)
		if err != nil {
			return
		}
		if len(files) != r.Descriptors() {
			wire.CloseAll(files)
			return // as if it had gone: nothing more of it is believed
		}
		r.files = files
		select {
		case x.replies <- r:
		case <-x.quit:
			wire.CloseAll(files)
			return
		}
	}
}

// next waits for PID 1's next message.
func (x *box) next(ctx context.Context) (reply, error) {
	select {
	case r, ok := <-x.replies:
		if !ok {
			return reply{}, errGone
		}
		return r, nil
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
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
	x.once.Do(func() { close(x.quit); x.conn.Close() })
	if x.stop != nil {
		x.stop()
	}
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
		err = x.group.Kill(ctx, os.Getpid(), x.proc.Parent)
	}
	return errors.Join(err, x.group.Close())
}
