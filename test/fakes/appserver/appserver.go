// Package appserver is a scriptable fake of `codex app-server`. It speaks over an in-process pipe, a WebSocket (ws, or wss
// with its own authority) or standard input and output, does exactly what its script says, and keeps what it was sent.
//
// A Server has one Script per connection, in the order in which they are made. A script runs from its first to its last
// step; then the connection stays, answered by its Auto rules, until the client leaves. What the client sends and no
// step expects is a failure, so that a test of what was sent is a test of everything that was sent.
//
// Every message it sends is judged by a Validator first, unless the step says Unchecked: a fake that says what the real
// server cannot say proves nothing.
package appserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// patience bounds each wait of a script for the client.
const patience = 2 * time.Minute

// Validator judges a message before it is sent. For a Result the method is the client's.
type Validator func(kind Kind, method string, payload json.RawMessage) error

// Server plays scripts. It is safe for concurrent use.
type Server struct {
	scripts   []Script
	validate  Validator
	onMessage func(Message)

	mu       sync.Mutex
	next     int
	received []Message
	failures []error
	gates    map[string]*gate
	nextID   int64 // of our own requests: one sequence for the process, from 0, as the real one has
	sessions sync.WaitGroup
	changed  chan struct{}
}

type gate struct {
	reached, open chan struct{}
	once          sync.Once
}

// New returns a server with one script per connection.
func New(scripts ...Script) *Server {
	return &Server{scripts: scripts, validate: Shapes, gates: map[string]*gate{}, changed: make(chan struct{})}
}

// TB is the part of testing.TB that Start uses.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start is New for one test, which fails when a script did. The test must end its connections.
func Start(t TB, scripts ...Script) *Server {
	t.Helper()
	s := New(scripts...)
	t.Cleanup(func() {
		t.Helper()
		s.Wait()
		if err := s.Err(); err != nil {
			t.Errorf("fake app-server: %v", err)
		}
	})
	return s
}

// Use sets the validator, before the first connection.
func (s *Server) Use(v Validator) *Server {
	s.validate = v
	return s
}

// OnMessage sets a function that gets each message of a client at its arrival, before the first connection.
func (s *Server) OnMessage(f func(Message)) { s.onMessage = f }

// Wait returns when every connection so far has ended.
func (s *Server) Wait() { s.sessions.Wait() }

// Err is everything that went differently from the scripts, or nil.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.failures...)
}

// Connections is the number of connections made so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

// Received returns what clients sent so far, in the order of arrival.
func (s *Server) Received() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// Sent returns the requests and notifications of one method that clients sent so far.
func (s *Server) Sent(method string) []Message {
	return slices.DeleteFunc(s.Received(), func(m Message) bool { return m.Method != method })
}

// Changed returns a channel that is closed at the next message of a client.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Release opens a gate, for all connections and for good: a Hold at it goes on.
func (s *Server) Release(name string) {
	g := s.gate(name)
	g.once.Do(func() { close(g.open) })
}

// Held returns a channel that is closed when a connection has reached a Hold at the gate.
func (s *Server) Held(name string) <-chan struct{} { return s.gate(name).reached }

func (s *Server) gate(name string) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[name] == nil {
		s.gates[name] = &gate{reached: make(chan struct{}), open: make(chan struct{})}
	}
	return s.gates[name]
}

func (s *Server) reach(g *gate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-g.reached:
	default:
		close(g.reached)
	}
}

func (s *Server) fail(connection int, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, fmt.Errorf("connection %d: %w", connection, fmt.Errorf(format, args...)))
}

func (s *Server) note(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, m)
	if s.onMessage != nil {
		s.onMessage(m)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// requestID is the next id of a request of ours.
func (s *Server) requestID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextID++
	return s.nextID - 1
}

// begin numbers a connection; play must follow.
func (s *Server) begin() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	s.sessions.Add(1)
	return s.next - 1
}

// play runs the script of connection n over l; it returns when the connection has ended.
func (s *Server) play(n int, l link) {
	defer s.sessions.Done()
	if n >= len(s.scripts) {
		s.fail(n, "there is no script for it")
		l.drop()
		return
	}
	newSession(s, n, s.scripts[n], l).run()
}
