// Package session keeps agent sessions in memory: their conversation, verified results, retained facts and summary
// (A-SES-01), and assembles the context of a model call from them.
//
// Nothing here survives the process, and reasoning never enters it: a reply's thinking lives in an Exchange while the same
// tool-call exchange goes on and is dropped with it (A-OLL-04).
package session

import (
	"sync"
	"time"

	"sekisho/internal/fault"
)

// State of a session (A-SES-08).
type State string

// The states of A-SES-08, in their only order.
const (
	Active  State = "active"
	Closing State = "closing"
	Closed  State = "closed"
)

// Store holds the sessions of this process. It is safe for concurrent use.
type Store struct {
	ttl time.Duration
	now func() time.Time

	mu       sync.Mutex
	sessions map[string]*Session
}

// NewStore returns an empty store. A session that was not accessed for ttl and has no unfinished task closes; a ttl of 0
// keeps it.
func NewStore(ttl time.Duration, now func() time.Time) *Store {
	return &Store{ttl: ttl, now: now, sessions: map[string]*Session{}}
}

// Open adds a new active session with one unfinished task.
func (s *Store) Open(id, owner string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &Session{id: id, owner: owner, state: Active, created: s.now(), accessed: s.now(), unfinished: 1}
	s.sessions[id] = n
	return n
}

// Begin returns the active session id with one more unfinished task. Error: session.not_found, also for a closing or
// closed session.
func (s *Store) Begin(id string) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.get(id)
	if err == nil {
		n.unfinished++
	}
	return n, err
}

// Touch records an access. Error: session.not_found, also for a closing or closed session.
func (s *Store) Touch(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.get(id)
	return err
}

func (s *Store) get(id string) (*Session, error) {
	n := s.sessions[id]
	if n == nil || n.state != Active || s.stale(n) {
		return nil, fault.New(fault.SessionNotFound, fault.Target(id))
	}
	n.accessed = s.now()
	return n, nil
}

// End takes back one unfinished task of n.
func (s *Store) End(n *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.unfinished--
	n.accessed = s.now()
	s.settle(n)
}

// Close moves sessions of owner (of everyone, with all) to closing, and to closed once they have no unfinished task, and
// returns their ids. The caller stops their tasks.
func (s *Store) Close(owner string, all bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id, n := range s.sessions {
		if n.state == Active && (all || n.owner == owner) {
			n.state = Closing
			s.settle(n)
			ids = append(ids, id)
		}
	}
	return ids
}

// Expire closes and removes the sessions whose time is over and returns their ids (A-SES-08).
func (s *Store) Expire() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id, n := range s.sessions {
		if s.stale(n) {
			n.state = Closed
			delete(s.sessions, id)
			ids = append(ids, id)
		}
	}
	return ids
}

// State of session id; Closed for one that is unknown.
func (s *Store) State(id string) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.sessions[id]; n != nil {
		return n.state
	}
	return Closed
}

func (s *Store) stale(n *Session) bool {
	return s.ttl > 0 && n.unfinished == 0 && s.now().Sub(n.accessed) >= s.ttl
}

func (s *Store) settle(n *Session) {
	if n.state == Closing && n.unfinished == 0 {
		n.state = Closed
	}
}
