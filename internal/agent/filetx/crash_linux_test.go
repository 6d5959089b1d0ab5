package filetx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/rootio"
	"sekisho/test/crashfs"
)

// scenario is one change with the workspace before and after it.
type scenario struct {
	name   string
	limit  int64 // of backups in memory
	before func(*lab)
	do     func(*session) error
	old    string
	new    string
	// kept is true when a crash may leave the new state without undoing it.
	kept bool
}

func scenarios() []scenario {
	file := func(l *lab) { l.put("f", "old\n", 0o640) }
	discard := func(_ Change, err error) error { return err }
	ctx := context.Background()
	var all []scenario
	for _, limit := range []int64{0, 1 << 20} { // old bytes in a file, old bytes in memory
		all = append(all,
			scenario{"overwrite", limit, file, func(s *session) error { return discard(s.overwrite("f", "new\n")) }, "f -rw-r----- old\n", "f -rw-r----- new\n", limit > 0},
			scenario{"patch", limit, file, func(s *session) error { return discard(s.patch("f", `{"old_text":"old","new_text":"new"}`)) }, "f -rw-r----- old\n", "f -rw-r----- new\n", limit > 0},
			scenario{"delete", limit, file, func(s *session) error {
				return discard(s.Delete(ctx, scope, s.target("f", rootio.Existing), ""))
			}, "f -rw-r----- old\n", "", limit > 0})
	}
	return append(all,
		scenario{"create", 0, func(*lab) {}, func(s *session) error { return discard(s.overwrite("f", "new\n")) }, "", "f -rw-r--r-- new\n", false},
		scenario{"rename", 0, func(l *lab) { file(l); must(l.t, syscall.Mkdir(l.w+"/d", 0o755)) }, func(s *session) error { return discard(s.rename("f", "d/g")) },
			"d/ -rwxr-xr-x\nf -rw-r----- old\n", "d/ -rwxr-xr-x\nd/g -rw-r----- old\n", false},
		scenario{"mkdir", 0, file, func(s *session) error {
			return discard(s.Mkdir(ctx, scope, s.target("a/b/c", rootio.MayCreateParents)))
		}, "f -rw-r----- old\n", "a/ -rwxr-xr-x\na/b/ -rwxr-xr-x\na/b/c/ -rwxr-xr-x\nf -rw-r----- old\n", false},
		scenario{"rmdir", 0, func(l *lab) { must(l.t, syscall.Mkdir(l.w+"/d", 0o710)) }, func(s *session) error {
			return discard(s.Rmdir(ctx, scope, s.target("d", rootio.Existing)))
		}, "d/ -rwx--x---", "", false},
	)
}

func (sc scenario) lab(t testing.TB) *lab {
	l := newLab(t)
	l.limit = sc.limit
	sc.before(l)
	if got := l.tree(); got != sc.old {
		t.Fatalf("%s begins with %q, want %q", sc.name, got, sc.old)
	}
	return l
}

// The process stops at its k-th durable call; recovery, which itself stops at its j-th, then runs to its end. Whatever k and
// j, the workspace is wholly old or wholly new and nothing else is left.
//
// proves A-TX-02, A-TX-03, A-TX-04, A-PRI-03
func TestCrashAtEveryEffect(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(fmt.Sprintf("%s/%d", sc.name, sc.limit), func(t *testing.T) {
			undone, kept := 0, 0
			for k := 1; ; k++ {
				stopped := false
				for j := 1; ; j++ {
					l := sc.lab(t)
					fsys := crashfs.New(fileop.OS(), k, nil, crashfs.Torn(nil))
					err := sc.do(l.on(fsys))
					if !fsys.Stopped() {
						must(t, err)
						if got := l.tree(); got != sc.new || len(l.leftovers()) > 0 {
							t.Fatalf("undisturbed: %q, left over %q; want %q", got, l.leftovers(), sc.new)
						}
						break
					}
					stopped = true
					if err == nil {
						t.Fatalf("k=%d: no error", k)
					}
					committed := len(l.audit.events) > 0
					second := crashfs.New(fileop.OS(), j, nil, crashfs.Torn(nil))
					_, err = Recover(context.Background(), l.deps(second))
					if second.Stopped() {
						if _, err := Recover(context.Background(), l.deps(fileop.OS())); err != nil {
							t.Fatalf("k=%d j=%d: second recovery: %v", k, j, err)
						}
					} else {
						must(t, err)
					}
					switch got := l.tree(); got {
					case sc.old:
						undone++
					case sc.new:
						kept++
						if !sc.kept && !committed && sc.name != "mkdir" && sc.name != "rmdir" {
							t.Errorf("k=%d j=%d: the new state stays without its audit event", k, j)
						}
						if sc.kept && len(l.audit.events) == 0 {
							t.Errorf("k=%d j=%d: kept without an audit event", k, j)
						}
					default:
						t.Errorf("k=%d j=%d: neither old nor new: %q", k, j, got)
					}
					if left := l.leftovers(); len(left) > 0 {
						t.Errorf("k=%d j=%d: left over %q", k, j, left)
					}
					if !second.Stopped() {
						break
					}
				}
				if !stopped {
					break
				}
			}
			if undone == 0 || kept == 0 {
				t.Errorf("undone %d, kept %d: both must occur (the last calls come after the commit)", undone, kept)
			}
		})
	}
}

// One durable call fails and the process goes on: the error is reported and the old state is there at once.
//
// proves A-TX-02, A-TX-03
func TestFailureAtEveryEffectIsUndone(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(fmt.Sprintf("%s/%d", sc.name, sc.limit), func(t *testing.T) {
			for k := 1; ; k++ {
				l := sc.lab(t)
				fsys := &failing{FS: fileop.OS(), at: k, err: syscall.ENOSPC}
				s := l.on(fsys)
				err := sc.do(s)
				if fsys.n < k {
					must(t, err)
					if k < 8 {
						t.Errorf("only %d durable calls", k-1)
					}
					return
				}
				if err == nil {
					t.Fatalf("k=%d: no error", k)
				}
				if errors.Is(err, fault.New(fault.RecoveryFailed)) {
					if _, again := s.overwrite("other", "x"); word(again) != "recovery.failed" {
						t.Errorf("k=%d: a later change after a failed undo: %v", k, again)
					}
					must(t, s.Rollback(context.Background()))
				}
				if got := l.tree(); got != sc.old && got != sc.new {
					t.Errorf("k=%d: %q after %v", k, got, err)
				}
				if _, err := Recover(context.Background(), l.deps(fileop.OS())); err != nil {
					t.Errorf("k=%d: recovery: %v", k, err)
				}
				if left := l.leftovers(); len(left) > 0 {
					t.Errorf("k=%d: left over %q", k, left)
				}
				if got := l.tree(); strings.Contains(got, suffix) {
					t.Errorf("k=%d: %q", k, got)
				}
			}
		})
	}
}

// A change that can be neither finished nor undone stops everything until it is undone.
//
// proves A-TX-01, A-STOP-01
func TestFailedUndoStopsFurtherChanges(t *testing.T) {
	for _, sc := range scenarios() {
		count := &failing{FS: fileop.OS()}
		must(t, sc.do(sc.lab(t).on(count)))
		l := sc.lab(t)
		fsys := &failing{FS: fileop.OS(), err: syscall.EIO, at: count.n - 2, more: 1000} // the effect is there, the record too
		s := l.on(fsys)
		if err := sc.do(s); err == nil {
			t.Fatalf("%s: no error", sc.name)
		}
		if _, err := s.overwrite("probe", "x"); word(err) != "recovery.failed" {
			t.Errorf("%s: another change after a failed undo: %v", sc.name, err)
		}
		if err := s.Rollback(context.Background()); word(err) != "recovery.failed" {
			t.Errorf("%s: Rollback while nothing can be written: %v", sc.name, err)
		}
		fsys.at, fsys.more = 1<<30, 0
		must(t, s.Rollback(context.Background()))
		if got := l.tree(); got != sc.old || len(l.leftovers()) > 0 {
			t.Errorf("%s: after Rollback %q, left over %q", sc.name, got, l.leftovers())
		}
		if err := sc.do(s); err != nil {
			t.Errorf("%s: the same change afterwards: %v", sc.name, err)
		}
	}
}

// Another program writes into the file, or makes the directory, in the middle of the change: its work stays.
//
// proves A-TX-02, A-TX-03
func TestWorkOfOthersStays(t *testing.T) {
	ctx := context.Background()
	for _, limit := range []int64{0, 1 << 20} {
		l := newLab(t)
		l.limit = limit
		l.put("f", "old", 0o644)
		theirs := func() { must(t, os.WriteFile(l.w+"/f", []byte("theirs"), 0o644)) }
		if _, err := l.on(&meddling{FS: fileop.OS(), create: theirs}).overwrite("f", "ours"); word(err) != "tool.failed.swapped" {
			t.Errorf("a file written meanwhile: %v", err)
		}
		if got := l.tree(); got != "f -rw-r--r-- theirs" || len(l.leftovers()) > 0 {
			t.Errorf("tree %q, left over %q", got, l.leftovers())
		}
	}
	l := newLab(t)
	s := l.on(&meddling{FS: fileop.OS(), mkdir: func() { must(t, os.Mkdir(l.w+"/a", 0o700)) }})
	if _, err := s.Mkdir(ctx, scope, s.target("a/b", rootio.MayCreateParents)); word(err) != "tool.failed.target_exists" {
		t.Errorf("a directory made meanwhile: %v", err)
	}
	if got := l.tree(); got != "a/ -rwx------" || len(l.leftovers()) > 0 {
		t.Errorf("tree %q, left over %q", got, l.leftovers())
	}
}

// proves A-AUD-01, A-TX-02
func TestChangeWithoutItsAuditEventIsUndone(t *testing.T) {
	for _, sc := range scenarios() {
		if sc.name == "mkdir" || sc.name == "rmdir" {
			continue // tool.call is their event, written before
		}
		l := sc.lab(t)
		l.audit.broken = errors.New("disk full")
		if err := sc.do(l.on(fileop.OS())); word(err) != "tool.failed" {
			t.Errorf("%s: %v", sc.name, err)
		}
		if got := l.tree(); got != sc.old || len(l.leftovers()) > 0 {
			t.Errorf("%s: %q, left over %q", sc.name, got, l.leftovers())
		}
	}
}
