package taskstore

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"sekisho/internal/fileop"
	"sekisho/internal/statedir"
)

// world is a state root in which servers come and go.
type world struct {
	t    *testing.T
	root string
	now  time.Time
}

func newWorld(t *testing.T) *world {
	return &world{t: t, root: filepath.Join(t.TempDir(), "state", "agent-mcp"), now: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
}

// server is one of them; end is its graceful end.
type server struct {
	*Store
	instance *statedir.Instance
	dir      *statedir.Dir
	ended    bool
}

// server starts one over files.
func (w *world) server(files fileop.FS) *server {
	w.t.Helper()
	dir, err := statedir.Open(fileop.OS(), w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	i, err := dir.NewInstance(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	s := &server{instance: i, dir: dir}
	s.Store = Open(Options{Files: files, Root: dir, Instance: i, TTL: time.Hour, Poll: time.Second, Now: func() time.Time { return w.now }})
	w.t.Cleanup(s.end)
	return s
}

func (s *server) end() {
	if !s.ended {
		s.ended = true
		s.Store.Close()
		s.instance.Close()
		s.dir.Close()
	}
}

// recover does what the next start does, and returns the reports added up.
func (w *world) recover(files fileop.FS) (Report, error) {
	w.t.Helper()
	dir, err := statedir.Open(fileop.OS(), w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	defer dir.Close()
	found, err := dir.Recover(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	defer found.Close()
	r := Recovery{Files: files, Message: "restarted", Now: func() time.Time { return w.now }}
	var sum Report
	for _, i := range found.Instances {
		report, err := r.One(i)
		sum = Report{sum.Failed + report.Failed, sum.Expired + report.Expired, sum.Refused + report.Refused}
		if err != nil {
			return sum, err
		}
	}
	_, err = r.Bound()
	return sum, err
}

func (w *world) create(s *server) string {
	w.t.Helper()
	id := uuid.NewString()
	if _, err := s.Create(id, "queued"); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func completed(text string) Outcome {
	return Outcome{Status: Completed, Message: "done", Result: &Result{Text: text}}
}

// get fails the test unless the record is there.
func (w *world) get(s *server, id string) Record {
	w.t.Helper()
	r, err := s.Get(context.Background(), id)
	if err != nil {
		w.t.Fatalf("get %s: %v", id, err)
	}
	return r
}
