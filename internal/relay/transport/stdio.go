package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"sekisho/internal/fault"
)

// exitWait is how long the end of a child's output waits for the news of its exit, to name it in the error.
const exitWait = 2 * time.Second

// stdioConn is a Conn over a child's standard input and output: one frame is one line.
type stdioConn struct {
	opts  ChildOptions
	child *Child
	sup   *supervisor

	in     *os.File // what the child reads
	out    *os.File // what the child writes
	reader *bufio.Reader
	end    *ending
	turn   turn
	read   sync.Mutex // held by Read, and by Close when it throws the rest away
	broken bool       // Read has failed: what follows is in no known place of a frame
	closed sync.Once
	err    error
}

// Kind implements Conn.
func (c *stdioConn) Kind() Kind { return Stdio }

// Read implements Conn.
func (c *stdioConn) Read(ctx context.Context) ([]byte, error) {
	c.read.Lock()
	defer c.read.Unlock()
	if reason := c.end.reason(); reason != nil && (c.broken || reason.Class == Cancelled) {
		return nil, reason
	}
	defer context.AfterFunc(ctx, func() { c.out.SetReadDeadline(time.Unix(1, 0)) })()
	for {
		line, err := c.line()
		if err != nil {
			c.broken = true
			return nil, c.end.as(c.readError(ctx, err))
		}
		if len(line) > 0 {
			return line, nil
		}
	}
}

var errTooLarge = errors.New("line too long")

// line returns the next line without its end. What came after the last line feed is no frame: the child died in it.
func (c *stdioConn) line() ([]byte, error) {
	var line []byte
	for {
		part, err := c.reader.ReadSlice('\n')
		if int64(len(line)+len(bytes.TrimRight(part, "\r\n"))) > c.opts.Limits.Inbound {
			return nil, errTooLarge
		}
		line = append(line, part...)
		if err == nil {
			return bytes.TrimRight(line, "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

func (c *stdioConn) readError(ctx context.Context, err error) *Error {
	if reason := c.end.reason(); reason != nil {
		return reason
	}
	if ctx.Err() != nil {
		return cancelled(ctx.Err())
	}
	if errors.Is(err, errTooLarge) {
		return c.opts.Limits.tooLarge()
	}
	return c.broke(ctx, err)
}

// broke explains a pipe that ended: mostly because the child did, whose exit is heard of a little later.
func (c *stdioConn) broke(ctx context.Context, err error) *Error {
	timer := time.NewTimer(exitWait)
	defer timer.Stop()
	select {
	case <-c.child.Exited():
		return c.exitError()
	case <-c.end.over:
		return c.end.reason()
	case <-ctx.Done():
		return cancelled(ctx.Err())
	case <-timer.C:
	}
	return lost("", fault.Cause(err))
}

func (c *stdioConn) exitError() *Error {
	exit, _ := c.child.Exit()
	detail := exit.String()
	return lost("child_exited", fault.Arg("status", detail), fault.Cause(errors.New(detail)))
}

// Write implements Conn.
func (c *stdioConn) Write(ctx context.Context, frame []byte) (bool, error) {
	if err := c.opts.Limits.gate(frame); err != nil {
		return false, err
	}
	if err := c.turn.take(ctx, c.end); err != nil {
		return false, err
	}
	defer c.turn.done()
	c.in.SetWriteDeadline(time.Now().Add(c.opts.Timing.Write))
	n, err := c.in.Write(append(frame[:len(frame):len(frame)], '\n'))
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n > 0, c.end.as(c.broke(context.WithoutCancel(ctx), err)) // one call's end is not the connection's
	}
	reason := lost("silent", fault.Cause(err))
	select {
	case <-c.child.Exited():
		reason = c.exitError()
	default:
	}
	return n > 0, c.end.as(reason)
}

// Close implements Conn. The child gets the end of its input first, and its last words are read and thrown away, so that it
// can end by itself; then its supervisor ends it.
func (c *stdioConn) Close(reason Reason) error {
	c.closed.Do(func() {
		c.end.as(cancelled(errors.New(string(reason))))
		c.in.Close()
		c.sup.stop()
		c.out.SetReadDeadline(time.Unix(1, 0))
		c.read.Lock()
		defer c.read.Unlock()
		c.out.SetReadDeadline(time.Time{})
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			io.Copy(io.Discard, c.out)
		}()
		c.err = c.sup.wait()
		c.out.SetReadDeadline(time.Unix(1, 0)) // whoever holds the other end now is not ours
		<-drained
		c.out.Close()
		exit, _ := c.child.Exit()
		c.opts.Log.Info("child ended", "transport", Stdio, "reason", string(reason), "exit", exit.String(), "stderr_lines", c.child.stderr.count())
	})
	return c.err
}
