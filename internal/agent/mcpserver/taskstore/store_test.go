package taskstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"sekisho/internal/fileop"
	"sekisho/test/crashfs"
)

// proves A-MCP-12
func TestRecordOnDisk(t *testing.T) {
	w := newWorld(t)
	s := w.server(fileop.OS())
	if _, err := os.Lstat(s.instance.TreePath(Dir)); !errors.Is(err, os.ErrNotExist) {
		t.Error("a directory before the first record:", err)
	}
	id := w.create(s)
	path := s.instance.TreePath(Dir, id+".json")
	head := `{"schema_version":1,"instance":"` + s.instance.ID() + `","task_id":"` + id + `","status":"`
	times := `"created_at":"2026-08-01T12:00:00Z","last_updated_at":"2026-08-01T12:0`
	check := func(want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%v %s", err, cmp.Diff(want, string(got)))
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v, want 0600", info.Mode(), err)
		}
	}
	check(head + `working","status_message":"queued",` + times + `0:00Z","ttl_ms":3600000,"poll_interval_ms":1000}` + "\n")
	w.now = w.now.Add(time.Minute)
	if err := s.Finish(id, completed("text\n")); err != nil {
		t.Fatal(err)
	}
	check(head + `completed","status_message":"done",` + times + `1:00Z","ttl_ms":3600000,"poll_interval_ms":1000,"result":{"text":"text\n","is_error":false}}` + "\n")
	if r := w.get(s, id); r.Result == nil || r.Result.Text != "text\n" {
		t.Errorf("%+v", r)
	}
}

// proves A-MCP-12, A-MCP-07
func TestExpiryCountsFromCreationAndRemovesTheFile(t *testing.T) {
	w := newWorld(t)
	s := w.server(fileop.OS())
	finished, working, foreign := w.create(s), w.create(s), ""
	if err := s.Finish(finished, completed("x")); err != nil {
		t.Fatal(err)
	}
	other := w.server(fileop.OS())
	foreign = w.create(other)
	if err := other.Finish(foreign, completed("y")); err != nil {
		t.Fatal(err)
	}
	other.end()
	w.now = w.now.Add(time.Hour - time.Millisecond)
	for _, id := range []string{finished, working, foreign} {
		w.get(s, id)
	}
	w.now = w.now.Add(time.Millisecond)
	for name, id := range map[string]string{"finished": finished, "working": working, "foreign": foreign} {
		if _, err := s.Get(t.Context(), id); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Finish(working, completed("late")); !errors.Is(err, ErrUnknown) {
		t.Error("a late end of an expired task:", err)
	}
	left, err := filepath.Glob(filepath.Join(w.root, "instances", "*", Dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
	if s.bytes != 0 || len(s.entries) != 0 {
		t.Errorf("%d bytes, %d entries are counted still", s.bytes, len(s.entries))
	}
}

// Records of a living server are its own; an ended server's terminal ones are everybody's; what it left unfinished is failed
// by the next start, once.
//
// proves A-MCP-12, A-TX-06
func TestOtherServers(t *testing.T) {
	w := newWorld(t)
	a, b := w.server(fileop.OS()), w.server(fileop.OS())
	done, open := w.create(a), w.create(a)
	if err := a.Finish(done, completed("x")); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{done, open} {
		if _, err := b.Get(t.Context(), id); !errors.Is(err, ErrUnknown) {
			t.Errorf("a record of a living server: %v", err)
		}
	}
	if report, err := w.recover(fileop.OS()); err != nil || report != (Report{}) {
		t.Errorf("a recovery touched a living server: %+v %v", report, err)
	}
	a.end()
	if r := w.get(b, done); r.Result.Text != "x" || r.Instance != a.instance.ID() {
		t.Errorf("%+v", r)
	}
	if _, err := b.Get(t.Context(), open); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unfinished task of an ended server: %v", err)
	}
	w.now = w.now.Add(time.Minute)
	for i, want := range []Report{{Failed: 1}, {}} {
		if report, err := w.recover(fileop.OS()); err != nil || report != want {
			t.Errorf("recovery %d: %+v %v", i, report, err)
		}
	}
	for _, s := range []*server{b, w.server(fileop.OS())} {
		r := w.get(s, open)
		if r.Status != Failed || r.StatusMessage != "restarted" || r.Error == nil || *r.Error != (Error{-32603, "server_restarted"}) || !r.UpdatedAt.Equal(w.now) {
			t.Errorf("%+v", r)
		}
		if r := w.get(s, done); r.Result == nil || r.Result.Text != "x" {
			t.Errorf("%+v", r)
		}
	}
	w.now = w.now.Add(time.Hour)
	if report, err := w.recover(fileop.OS()); err != nil || report != (Report{Expired: 2}) {
		t.Errorf("recovery of expired records: %+v %v", report, err)
	}
	if _, err := os.Lstat(a.instance.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Error("the instance is left:", err)
	}
}

// Whoever ends a task, how often and at once: one outcome, the same in memory, on disk and after the server's end.
//
// proves A-MCP-12, A-MCP-11
// mcp report 9
func TestTerminalStatesAreImmutable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		outcomes := rapid.SliceOfN(rapid.SampledFrom([]Outcome{
			completed("one"), completed("two"), {Status: Completed, Result: &Result{Text: "bad", IsError: true}},
			{Status: Cancelled, Message: "c"}, {Status: Failed, Error: &Error{-32603, "e"}},
		}), 2, 24).Draw(rt, "outcomes")
		w := newWorld(t)
		w.root += fmt.Sprint(time.Now().UnixNano())
		s := w.server(fileop.OS())
		defer s.end()
		id := w.create(s)
		var actors sync.WaitGroup
		var mu sync.Mutex
		wins, seen := 0, map[string]bool{}
		note := func(r Record, err error) {
			if err != nil {
				rt.Error(err)
			}
			if r.Status.Terminal() {
				data, err := r.encode()
				if err != nil {
					rt.Error(err)
				}
				mu.Lock()
				seen[string(data)] = true
				mu.Unlock()
			}
		}
		for _, o := range outcomes {
			actors.Go(func() {
				switch err := s.Finish(id, o); {
				case err == nil:
					mu.Lock()
					wins++
					mu.Unlock()
				case !errors.Is(err, ErrTerminal):
					rt.Error(err)
				}
			})
			actors.Go(func() {
				for range 3 {
					note(s.Get(context.Background(), id))
				}
			})
		}
		actors.Wait()
		note(s.Get(context.Background(), id))
		s.end()
		if _, err := w.recover(fileop.OS()); err != nil {
			rt.Error(err)
		}
		later := w.server(fileop.OS())
		defer later.end()
		note(later.Get(context.Background(), id))
		if wins != 1 || len(seen) != 1 {
			rt.Errorf("%d callers ended the task, %d ends were seen: %v", wins, len(seen), seen)
		}
	})
}

// A store that dies at any durable effect has answered no id without a record, and whatever end it has told stays the end.
//
// proves A-MCP-12, A-TX-04
func TestDeathAtEveryEffect(t *testing.T) {
	for k := 1; ; k++ {
		w := newWorld(t)
		fsys := crashfs.New(fileop.OS(), k, nil, crashfs.Torn(nil))
		s := w.server(fsys)
		told := map[string]Status{}
		var ids []string
		for _, o := range []Outcome{completed(strings.Repeat("x", 1000)), {Status: Cancelled}, {}} {
			id := uuid.NewString()
			ids = append(ids, id)
			if _, err := s.Create(id, "m"); err != nil {
				continue
			}
			told[id] = Working
			if o.Status != "" && s.Finish(id, o) == nil {
				r, err := s.Get(context.Background(), id)
				if err != nil {
					t.Fatal(err)
				}
				told[id] = r.Status
			}
		}
		s.end()
		// Recoveries die as well, each one effect later than the one before.
		for j := 1; ; j++ {
			dying := crashfs.New(fileop.OS(), j, nil, crashfs.Torn(nil))
			if _, err := w.recover(dying); !dying.Stopped() {
				if err != nil {
					t.Fatalf("effect %d, recovery: %v", k, err)
				}
				break
			}
		}
		next := w.server(fileop.OS())
		for _, id := range ids {
			was, answered := told[id]
			r, err := next.Get(t.Context(), id)
			switch {
			case answered && err != nil:
				t.Errorf("effect %d: an answered task has no record: %v", k, err)
			case was == Working && err == nil && !r.Status.Terminal(), was.Terminal() && r.Status != was:
				t.Errorf("effect %d: told %s, is %s now", k, was, r.Status)
			case !answered && err == nil && r.Status != Failed:
				t.Errorf("effect %d: a task that was told to nobody is %s", k, r.Status)
			}
		}
		files, err := filepath.Glob(filepath.Join(w.root, "instances", "*", Dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		hidden, err := filepath.Glob(filepath.Join(w.root, "instances", "*", Dir, ".*"))
		if err != nil || len(hidden) > 0 || len(files) > len(ids) {
			t.Errorf("effect %d: left %v %v %v", k, files, hidden, err)
		}
		next.end()
		if !fsys.Stopped() {
			if k < 15 {
				t.Errorf("only %d effects", k)
			}
			return
		}
	}
}

// proves A-MCP-12
func TestWhatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	stopping := func(op crashfs.Op) bool { return op.Name == "write" }
	s := w.server(crashfs.New(fileop.OS(), 2, nil, crashfs.Counting(stopping))) // the first record's end cannot be written
	id := w.create(s)
	if err := s.Finish(id, completed("x")); err == nil {
		t.Fatal("the end was written")
	}
	if r := w.get(s, id); r.Status != Working {
		t.Errorf("told before it is on disk: %+v", r)
	}
	if _, err := s.Create(uuid.NewString(), ""); err == nil {
		t.Error("a record was made")
	}
	if len(s.entries) != 1 {
		t.Errorf("%d entries, want that of the first task", len(s.entries))
	}
}

// proves A-MCP-12
func TestBounds(t *testing.T) {
	w := newWorld(t)
	s := w.server(fileop.OS())
	first := w.create(s)
	s.bytes = maxRecordBytes - 10
	if _, err := s.Create(uuid.NewString(), "x"); !errors.Is(err, ErrFull) {
		t.Error("above the size:", err)
	}
	s.bytes = 1 << 10
	for len(s.entries) < maxRecords {
		s.entries[fmt.Sprint(len(s.entries))] = &entry{record: Record{CreatedAt: w.now, TTLMs: 1 << 40}}
	}
	if _, err := s.Create(uuid.NewString(), "x"); !errors.Is(err, ErrFull) {
		t.Error("above the count:", err)
	}
	long := strings.Repeat("あ", ResultLimit)
	if err := s.Finish(first, Outcome{Status: Completed, Message: long, Result: &Result{Text: "\x00\xff" + long}}); err != nil {
		t.Fatal(err)
	}
	r := w.get(s, first)
	if n := len(r.Result.Text); n > ResultLimit || n < ResultLimit-3 || !strings.HasSuffix(r.Result.Text, "あ…") || len(r.StatusMessage) > messageLimit {
		t.Errorf("cut to %d bytes, message %d", n, len(r.StatusMessage))
	}
	worst := w.server(fileop.OS())
	id := w.create(worst)
	if err := worst.Finish(id, completed(strings.Repeat("\x01", ResultLimit))); err != nil {
		t.Fatal("the largest record:", err)
	}
	w.get(worst, id)
}

// proves A-MCP-12
func TestTheOldestRecordsOfEndedServersGoFirst(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for range 6 {
		s := w.server(fileop.OS())
		ids = append(ids, w.create(s))
		w.now = w.now.Add(time.Second)
		s.end()
	}
	dirs, err := filepath.Glob(filepath.Join(w.root, "instances", "*", Dir, "*"))
	if err != nil || len(dirs) != 6 {
		t.Fatal(dirs, err)
	}
	next := w.server(fileop.OS())
	found, err := next.dir.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := Recovery{Files: fileop.OS(), Now: func() time.Time { return w.now }}
	for _, i := range found.Instances {
		if _, err := r.One(i); err != nil {
			t.Fatal(err)
		}
	}
	size := r.Kept[0].size
	for _, c := range []struct {
		count, want int
		bytes       int64
	}{{6, 0, 1 << 20}, {5, 1, 1 << 20}, {5, 2, 3 * size}} {
		if n, err := r.bound(c.count, c.bytes); err != nil || n != c.want {
			t.Errorf("bound(%d, %d) = %d, %v; want %d", c.count, c.bytes, n, err, c.want)
		}
	}
	if err := found.Close(); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if _, err := next.Get(t.Context(), id); (err == nil) != (i >= 3) {
			t.Errorf("record %d of 6: %v", i, err)
		}
	}
}
