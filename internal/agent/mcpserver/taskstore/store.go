package taskstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sekisho/internal/atomicfile"
	"sekisho/internal/fileop"
	"sekisho/internal/statedir"
)

// Errors of a Store.
var (
	// ErrUnknown reports an id that names no record, or one whose time is over.
	ErrUnknown = errors.New("unknown or expired task")
	// ErrTerminal reports that a task ended already; its record stays as it is.
	ErrTerminal = errors.New("the task has ended already")
	// ErrFull reports that a server holds as many records as it may.
	ErrFull = errors.New("too many task records")
)

// Limits of the records of one server, judged when one is created: results of the tasks that are unfinished then come on top
// (at most 64, see runtime). A task takes minutes, so that a day does not reach them.
const (
	maxRecords     = 4096
	maxRecordBytes = 512 << 20
)

// Options are what a Store works with; all but Now are required.
type Options struct {
	Files    fileop.FS
	Root     *statedir.Dir
	Instance *statedir.Instance
	// TTL is the time to live of a new record, Poll the interval told to clients.
	TTL, Poll time.Duration
	Now       func() time.Time // nil means time.Now
}

// Store holds the records of one server, and reads those of ended ones. It is safe for concurrent use.
type Store struct {
	o Options

	mu      sync.Mutex
	dir     *os.File // opened with the first record
	entries map[string]*entry
	bytes   int64
}

// entry is one record of this server.
type entry struct {
	mu     sync.Mutex // held while the file changes
	record Record     // without its result once terminal: that is read from the file
	size   int64      // of the file in bytes; guarded by Store.mu
	gone   bool       // removed; guarded by mu
}

// Open returns a store without records. It makes no file or directory before the first one.
func Open(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Poll = min(max(o.Poll, time.Millisecond), maxPoll)
	return &Store{o: o, entries: map[string]*entry{}}
}

// Create writes a new working record and returns it once it is on disk. The id must be valid and unused.
// Errors: ErrFull, or why it could not be written; then there is no record.
func (s *Store) Create(id, message string) (Record, error) {
	now := stamp(s.o.Now())
	r := Record{SchemaVersion: schemaVersion, Instance: s.o.Instance.ID(), TaskID: id, Status: Working, StatusMessage: Cut(message, messageLimit),
		CreatedAt: now, UpdatedAt: now, TTLMs: s.o.TTL.Milliseconds(), PollIntervalMs: s.o.Poll.Milliseconds()}
	data, err := r.encode()
	if err != nil {
		return Record{}, fmt.Errorf("task record: %w", err)
	}
	s.sweep()
	e, err := s.reserve(id, r, int64(len(data)))
	if err != nil {
		return Record{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := s.write(id, data); err != nil {
		// The file may be there if only the flush of its name failed. Its id is told to nobody.
		return Record{}, errors.Join(err, s.drop(id, e))
	}
	return r, nil
}

// reserve takes the room of a record before it is written.
func (s *Store) reserve(id string, r Record, size int64) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[id] != nil {
		return nil, errors.New("a task record with this id exists")
	}
	if len(s.entries) >= maxRecords || s.bytes+size > maxRecordBytes {
		return nil, ErrFull
	}
	if s.dir == nil {
		dir, err := s.o.Instance.Sub(Dir)
		if err != nil {
			return nil, err
		}
		s.dir = dir
	}
	e := &entry{record: r, size: size}
	s.entries[id] = e
	s.bytes += size
	return e, nil
}

func (s *Store) write(id string, data []byte) error {
	return atomicfile.Write(s.o.Files, s.dir, id+suffix, data, 0o600)
}

// Finish makes a record terminal. Of several callers exactly one succeeds, and what it wrote stays.
// Errors: ErrTerminal, ErrUnknown, or why it could not be written; then the record is unfinished still and Finish may be
// called again.
func (s *Store) Finish(id string, o Outcome) error {
	if !o.Status.Terminal() {
		return fmt.Errorf("%s is no end of a task", o.Status)
	}
	e := s.entry(id)
	if e == nil {
		return ErrUnknown
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.gone:
		return ErrUnknown
	case e.record.Status.Terminal():
		return ErrTerminal
	}
	r := e.record.ended(o.fit(), s.o.Now())
	data, err := r.encode()
	if err != nil {
		return fmt.Errorf("task record: %w", err)
	}
	if err := s.write(id, data); err != nil {
		return err
	}
	s.mu.Lock()
	s.bytes += int64(len(data)) - e.size
	e.size = int64(len(data))
	s.mu.Unlock()
	e.record = r
	e.record.Result = nil
	return nil
}

// Get returns a record: of this server, or a terminal one of an ended server. Error: ErrUnknown, also for an id that is not
// valid; anything else means that the record could not be read.
func (s *Store) Get(ctx context.Context, id string) (Record, error) {
	if !ValidID(id) {
		return Record{}, ErrUnknown
	}
	e := s.entry(id)
	if e == nil {
		return s.foreign(ctx, id)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return Record{}, ErrUnknown
	}
	if e.record.Expired(s.o.Now()) {
		return Record{}, errors.Join(ErrUnknown, s.drop(id, e))
	}
	if e.record.Status != Completed {
		return e.record, nil
	}
	r, err := read(s.dir.Name(), s.o.Instance.ID(), id)
	if err != nil {
		return Record{}, fmt.Errorf("reading a task record: %w", err)
	}
	return r, nil
}

// Remove forgets a record whose id was told to nobody.
func (s *Store) Remove(id string) error {
	e := s.entry(id)
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.drop(id, e)
}

func (s *Store) entry(id string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[id]
}

// drop removes a record's file. The caller holds e.mu.
func (s *Store) drop(id string, e *entry) error {
	if e.gone {
		return nil
	}
	e.gone = true
	s.mu.Lock()
	delete(s.entries, id)
	s.bytes -= e.size
	s.mu.Unlock()
	return atomicfile.Remove(s.o.Files, s.dir, id+suffix)
}

// sweep removes the records whose time is over. What cannot be removed now is left to a recovery.
func (s *Store) sweep() {
	s.mu.Lock()
	all := make(map[string]*entry, len(s.entries))
	for id, e := range s.entries {
		all[id] = e
	}
	s.mu.Unlock()
	for id, e := range all {
		e.mu.Lock()
		if e.record.Expired(s.o.Now()) {
			s.drop(id, e)
		}
		e.mu.Unlock()
	}
}

// Close closes the directory; the records stay.
func (s *Store) Close() error {
	s.sweep()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == nil {
		return nil
	}
	return s.dir.Close()
}

// foreignWait is how long a request waits for a server that is starting.
const foreignWait = 5 * time.Second

// foreign looks for a terminal record of an ended server.
func (s *Store) foreign(ctx context.Context, id string) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, foreignWait)
	defer cancel()
	found, err := Record{}, ErrUnknown
	walk := s.o.Root.Ended(ctx, func(i *statedir.Instance) error {
		dir, openErr := i.Sub(Dir)
		if openErr != nil {
			return nil // no private directory: a recovery removes it
		}
		defer dir.Close()
		r, readErr := read(dir.Name(), i.ID(), id)
		switch {
		case readErr != nil || !r.Status.Terminal():
			return nil // no record, or one that a recovery has to end first
		case r.Expired(s.o.Now()):
			return atomicfile.Remove(s.o.Files, dir, id+suffix)
		}
		found, err = r, nil
		return nil
	}, Dir, id+suffix)
	if walk != nil && err != nil {
		return Record{}, fmt.Errorf("looking for a task record: %w", walk)
	}
	return found, err
}

// read reads the record of a task from its file. A missing file is fs.ErrNotExist.
func read(dir, instance, id string) (Record, error) {
	data, err := atomicfile.Read(filepath.Join(dir, id+suffix), recordLimit)
	if err != nil {
		return Record{}, err
	}
	return decode(data, instance, id)
}

func toValid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
