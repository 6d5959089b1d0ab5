package appserver

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"sync"

	"sekisho/internal/fault"
	"sekisho/internal/relay/transport"
)

// Pipe is an in-process connection. It fits into a synctest bubble.
type Pipe struct {
	mu       sync.Mutex
	up, down [][]byte
	onWrite  func(frame []byte) (refused, started bool, err error)
	frozen   bool
	left     bool             // the client has closed it
	err      *transport.Error // why it ended
	changed  chan struct{}
}

// Pipe makes the next connection.
func (s *Server) Pipe() *Pipe {
	p := &Pipe{changed: make(chan struct{})}
	n := s.begin()
	go s.play(n, pipeLink{p})
	return p
}

// OnWrite sets what a transport might do to a frame that is to be sent: when refused is true the server does not get it,
// Write returns the rest, and an err that is not nil ends the connection.
func (p *Pipe) OnWrite(f func(frame []byte) (refused, started bool, err error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onWrite = f
}

// Kind implements transport.Conn.
func (p *Pipe) Kind() transport.Kind { return transport.Stdio }

// Read implements transport.Conn.
func (p *Pipe) Read(ctx context.Context) ([]byte, error) {
	for {
		p.mu.Lock()
		switch {
		case p.left:
			defer p.mu.Unlock()
			return nil, p.err
		case len(p.down) > 0:
			defer p.mu.Unlock()
			frame := p.down[0]
			p.down = p.down[1:]
			return frame, nil
		case p.err != nil:
			defer p.mu.Unlock()
			return nil, p.err
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			p.end(true, transport.Cancelled, fault.ConnectionClosed, fault.Cause(ctx.Err()))
		}
	}
}

// Write implements transport.Conn.
func (p *Pipe) Write(ctx context.Context, frame []byte) (bool, error) {
	p.mu.Lock()
	err, onWrite := p.err, p.onWrite
	p.mu.Unlock()
	if err != nil {
		return false, err
	}
	if ctx.Err() != nil {
		return false, &transport.Error{Class: transport.Cancelled, Fault: fault.New(fault.ConnectionClosed, fault.Cause(ctx.Err()))}
	}
	if onWrite != nil {
		if refused, started, err := onWrite(frame); refused {
			if err != nil {
				p.end(false, transport.Transient, fault.ConnectionLost, fault.Cause(err))
			}
			return started, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return false, p.err
	}
	if !p.frozen {
		p.up = append(p.up, bytes.Clone(frame))
		p.wake()
	}
	return true, nil
}

// Close implements transport.Conn.
func (p *Pipe) Close(reason transport.Reason) error {
	p.end(true, transport.Cancelled, fault.ConnectionClosed, fault.Cause(errors.New(string(reason))))
	return nil
}

func (p *Pipe) end(byClient bool, class transport.Class, code fault.Code, opts ...fault.Option) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = p.left || byClient
	if p.err == nil || byClient && p.err.Class != transport.Cancelled && len(p.down) > 0 {
		p.err = &transport.Error{Class: class, Fault: fault.New(code, opts...)}
	}
	p.wake()
}

func (p *Pipe) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

var errLeft = errors.New("the client has left")

// pipeLink is the server's end.
type pipeLink struct{ *Pipe }

func (l pipeLink) read() ([]byte, error) {
	for {
		l.mu.Lock()
		if len(l.up) > 0 {
			defer l.mu.Unlock()
			frame := l.up[0]
			l.up = l.up[1:]
			return frame, nil
		}
		ended, changed := l.err != nil, l.changed
		l.mu.Unlock()
		if ended {
			return nil, errLeft
		}
		<-changed
	}
}

func (l pipeLink) write(frame []byte, _ bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return errLeft
	}
	if !l.frozen {
		l.down = append(l.down, bytes.Clone(frame))
		l.wake()
	}
	return nil
}

func (l pipeLink) close(code int) {
	l.end(false, transport.Transient, fault.ConnectionLost, fault.Variant("closed_by_server"), fault.Arg("status", closeCode(code)))
}

func (l pipeLink) drop() { l.end(false, transport.Transient, fault.ConnectionLost) }

func (l pipeLink) exit(code int) {
	l.end(false, transport.Transient, fault.ConnectionLost, fault.Variant("child_exited"), fault.Arg("status", "status "+strconv.Itoa(code)))
}

func (l pipeLink) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = true
}

func closeCode(code int) int {
	if code == 0 {
		return 1000
	}
	return code
}
