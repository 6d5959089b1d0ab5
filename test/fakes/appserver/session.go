package appserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// link carries the frames of one connection. read returns an error when the client has left; then write has no effect.
type link interface {
	read() ([]byte, error)
	write(frame []byte, binary bool) error
	close(code int)
	drop()
	exit(code int)
	freeze()
}

// session is one connection: the script on the caller's goroutine, the reader on another.
type session struct {
	server *Server
	n      int
	script Script
	link   link
	over   chan struct{} // closed when the client has left

	sending sync.Mutex // keeps the automatic answers and the script's frames apart

	mu      sync.Mutex
	inbox   []Message
	autos   []Step
	changed chan struct{} // closed and replaced when the inbox grows

	taken map[string]Message         // by label; only the script's goroutine
	asked map[string]json.RawMessage // ids of our requests by label
	ended bool                       // the script has ended the connection itself
}

func newSession(s *Server, n int, script Script, l link) *session {
	return &session{server: s, n: n, script: script, link: l, over: make(chan struct{}), changed: make(chan struct{}),
		taken: map[string]Message{}, asked: map[string]json.RawMessage{}}
}

func (s *session) run() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.receive()
	}()
	for i, step := range s.script {
		if err := s.excused(s.do(step)); err != nil {
			s.server.fail(s.n, "step %d (%s %s): %w", i+1, step.Do, step.label(), err)
			s.link.drop()
			break
		}
		if s.ended {
			break
		}
	}
	<-done
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		for _, m := range s.inbox {
			s.server.fail(s.n, "nothing expected %v", m)
		}
	}
}

// receive notes and sorts what the client sends until it has left.
func (s *session) receive() {
	defer close(s.over)
	for {
		frame, err := s.link.read()
		if err != nil {
			return
		}
		m := parse(s.n, frame)
		s.server.note(m)
		s.mu.Lock()
		auto := slices.IndexFunc(s.autos, func(a Step) bool { return a.rules(m) })
		var rule Step
		if auto >= 0 {
			rule = s.autos[auto]
		} else {
			s.inbox = append(s.inbox, m)
			close(s.changed)
			s.changed = make(chan struct{})
		}
		s.mu.Unlock()
		if auto >= 0 {
			s.automatic(rule, m)
		}
	}
}

// rules reports whether the rule of the step is for m.
func (s Step) rules(m Message) bool {
	return (m.Kind == Call || m.Kind == Notification) && m.Method == s.Method && contains(m.Params, s.Params)
}

func (s *session) automatic(rule Step, m Message) {
	if rule.Do != DoAuto || m.Kind != Call {
		return
	}
	err := s.respond(m, rule, map[string]Message{rule.Method: m})
	if _, gone := errors.AsType[unwritten](err); err != nil && !gone { // the reader is where a client's leaving is noticed
		s.server.fail(s.n, "automatic answer to %s: %w", m.Method, err)
	}
}

// rule adds a rule, also for what has arrived already. The latest rule counts.
func (s *session) rule(step Step) {
	s.mu.Lock()
	s.autos = append([]Step{step}, s.autos...)
	var waited []Message
	s.inbox = slices.DeleteFunc(s.inbox, func(m Message) bool {
		if !step.rules(m) {
			return false
		}
		waited = append(waited, m)
		return true
	})
	s.mu.Unlock()
	for _, m := range waited {
		s.automatic(step, m)
	}
}

func (s *session) do(step Step) error {
	switch step.Do {
	case DoExpect:
		m, err := s.take(step.Method, func(m Message) bool {
			return (m.Kind == Call || m.Kind == Notification) && m.Method == step.Method && contains(m.Params, step.Params)
		})
		s.taken[step.label()] = m
		return err
	case DoAnswer:
		return s.answer(step)
	case DoAuto, DoIgnore:
		s.rule(step)
		return nil
	case DoReply, DoError:
		m, ok := s.taken[step.label()]
		if !ok || m.Kind != Call {
			return fmt.Errorf("no request was taken as %q", step.label())
		}
		return s.respond(m, step, s.taken)
	case DoNotify:
		return s.notify(step)
	case DoRequest:
		return s.request(step)
	case DoGarbage, DoBinary:
		return s.write([]byte(step.Text), step.Do == DoBinary)
	case DoDelay:
		return s.pause(time.Duration(step.Millis) * time.Millisecond)
	case DoHold:
		g := s.server.gate(step.Name)
		s.server.reach(g)
		return s.wait(g.open)
	case DoRelease:
		s.server.Release(step.Name)
		return nil
	case DoFreeze:
		s.link.freeze()
		return nil
	case DoClose, DoDrop, DoExit:
		s.ended = true
		switch step.Do {
		case DoClose:
			s.link.close(step.Code)
		case DoDrop:
			s.link.drop()
		case DoExit:
			s.link.exit(step.Code)
		}
		return nil
	}
	return fmt.Errorf("there is no step %q", step.Do)
}

// take waits for the first message that fits and takes it out of the inbox.
func (s *session) take(what string, fits func(Message) bool) (Message, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for left := false; ; {
		s.mu.Lock()
		i := slices.IndexFunc(s.inbox, fits)
		if i >= 0 {
			m := s.inbox[i]
			s.inbox = slices.Delete(s.inbox, i, i+1)
			s.mu.Unlock()
			return m, nil
		}
		changed, waiting := s.changed, slices.Clone(s.inbox)
		s.mu.Unlock()
		if left {
			return Message{}, fmt.Errorf("the client left before %s; waiting: %v", what, waiting)
		}
		select {
		case <-changed:
		case <-s.over:
			left = true // once more, for what came last
		case <-limit.C:
			return Message{}, fmt.Errorf("no %s; waiting: %v", what, waiting)
		}
	}
}

func (s *session) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.over:
	}
	return nil
}

func (s *session) wait(open <-chan struct{}) error {
	select {
	case <-open:
	case <-s.over:
	}
	return nil
}
