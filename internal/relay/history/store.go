package history

import (
	"slices"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
)

// MaxWindows is how many threads keep their window; the one that was not opened for the longest time goes first.
const MaxWindows = 4

// Store holds the windows of one owner's threads. It is not safe for concurrent use.
type Store struct {
	owner   relay.Owner
	gen     relay.Generation
	windows []*Window // the last opened one at the end
}

// NewStore returns a Store without windows.
func NewStore(owner relay.Owner) *Store { return &Store{owner: owner} }

// Owner is whose threads these are.
func (s *Store) Owner() relay.Owner { return s.owner }

// Open returns the window of a thread, made if there is none.
func (s *Store) Open(thread relay.ThreadID) *Window {
	if i := s.index(thread); i >= 0 {
		w := s.windows[i]
		s.windows = append(slices.Delete(s.windows, i, i+1), w)
		return w
	}
	if len(s.windows) >= MaxWindows {
		s.windows = slices.Delete(s.windows, 0, 1)
	}
	w := New(s.owner, thread, s.gen)
	s.windows = append(s.windows, w)
	return w
}

// Window returns the window of a thread, if there is one.
func (s *Store) Window(thread relay.ThreadID) (*Window, bool) {
	if i := s.index(thread); i >= 0 {
		return s.windows[i], true
	}
	return nil, false
}

// Close forgets a thread.
func (s *Store) Close(thread relay.ThreadID) {
	if i := s.index(thread); i >= 0 {
		s.windows = slices.Delete(s.windows, i, i+1)
	}
}

func (s *Store) index(thread relay.ThreadID) int {
	return slices.IndexFunc(s.windows, func(w *Window) bool { return w.thread == thread })
}

// Note gives a notification to the window of its thread; threads without a window keep nothing.
func (s *Store) Note(gen relay.Generation, n codex.Notification) (changed bool, found []Delivery) {
	if w, ok := s.Window(n.Scope().Thread); ok && gen == s.gen {
		return w.Note(gen, n)
	}
	return false, nil
}

// Rebind binds all windows to a new generation: histories outlive a connection.
func (s *Store) Rebind(gen relay.Generation) {
	s.gen = gen
	for _, w := range s.windows {
		w.Rebind(gen)
	}
}

// Lost marks all windows as incomplete.
func (s *Store) Lost() {
	for _, w := range s.windows {
		w.Lost()
	}
}
