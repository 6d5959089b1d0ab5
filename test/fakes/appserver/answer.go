package appserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// answer waits for the client's answer to a request of ours.
func (s *session) answer(step Step) error {
	id, ok := s.asked[step.label()]
	if !ok {
		return fmt.Errorf("nothing was asked as %q", step.label())
	}
	m, err := s.take("answer", func(m Message) bool { return (m.Kind == Result || m.Kind == Failure) && bytes.Equal(m.ID, id) })
	if err != nil {
		return err
	}
	s.taken[step.label()] = m
	switch {
	case step.Error != nil && (m.Kind != Failure || m.Error.Code != step.Error.Code):
		return fmt.Errorf("answered by %v, not by the error %d", m, step.Error.Code)
	case step.Error == nil && m.Kind != Result:
		return fmt.Errorf("answered by %v", m)
	case step.Error == nil && !contains(m.Params, step.Result):
		return fmt.Errorf("answered by %v, without %s", m, step.Result)
	}
	return nil
}

func (s *session) respond(m Message, step Step, taken map[string]Message) error {
	if step.Error != nil {
		return s.send(step, Failure, m.Method, nil, map[string]any{"error": step.Error, "id": m.ID})
	}
	result, err := fill(orNull(step.Result), taken, 0)
	if err != nil {
		return err
	}
	return s.send(step, Result, m.Method, result, map[string]any{"id": m.ID, "result": result})
}

// notify sends notifications with the member that the real server adds and the schema does not list.
func (s *session) notify(step Step) error {
	for n := range max(step.Times, 1) {
		params, err := fill(orNull(step.Params), s.taken, n)
		if err != nil {
			return err
		}
		if err := s.send(step, Notification, step.Method, params, map[string]any{"method": step.Method, "params": params, "emittedAtMs": time.Now().UnixMilli()}); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) request(step Step) error {
	id := step.ID
	if id == nil {
		id = raw(s.server.requestID())
	}
	params, err := fill(orNull(step.Params), s.taken, 0)
	if err != nil {
		return err
	}
	s.asked[step.label()] = id
	return s.send(step, Call, step.Method, params, map[string]any{"method": step.Method, "id": id, "params": params})
}

func (s *session) send(step Step, kind Kind, method string, payload json.RawMessage, message map[string]any) error {
	if !step.Unchecked && kind != Failure {
		if err := s.server.validate(kind, method, payload); err != nil {
			return fmt.Errorf("not what the real server could send: %w", err)
		}
	}
	frame, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return s.write(frame, false)
}

// write sends a frame. That it cannot be sent is no failure by itself: a client that has left misses it, and what it
// misses shows elsewhere. The error is unwritten then.
func (s *session) write(frame []byte, binary bool) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if err := s.link.write(frame, binary); err != nil {
		return unwritten{err}
	}
	return nil
}

type unwritten struct{ error }

// excused is nil for a frame that was not sent because the client has left, which the reader may notice a little later.
func (s *session) excused(err error) error {
	if _, ok := errors.AsType[unwritten](err); !ok {
		return err
	}
	select {
	case <-s.over:
		return nil
	case <-time.After(patience):
		return err
	}
}

func orNull(payload json.RawMessage) json.RawMessage {
	if payload == nil {
		return json.RawMessage("null")
	}
	return payload
}
