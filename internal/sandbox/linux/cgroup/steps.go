//go:build linux

package cgroup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
)

// Steps performs and undoes planned directories, also those of another driver or an earlier run: everything it needs is
// in the data. Safe for concurrent use.
type Steps struct {
	files fileop.FS
	// kernel tells whether a directory is one of a control group file system; tests with made-up trees replace it.
	kernel func(*os.File) error

	mu   sync.Mutex
	made map[string]sandbox.FileID // by path, what this process made
}

// NewSteps returns the performer of steps.
func NewSteps(files fileop.FS) *Steps {
	return &Steps{files: files, kernel: onCgroup, made: map[string]sandbox.FileID{}}
}

// undo is the data of an Undo. A directory has no identity before it exists, so an undo knows it by its parent's identity
// and its name, which carries ids that were never used before, and knows what lay there earlier.
type undo struct {
	place
	ParentID sandbox.FileID  `json:"parent_id"`
	Before   *sandbox.FileID `json:"before,omitempty"` // what already had the name: never ours
}

// revertTime bounds how long Revert waits for killed processes to leave, when ctx has no earlier end.
const revertTime = 20 * time.Second

// Observe reads what Revert needs (see sandbox.Backend).
func (s *Steps) Observe(_ context.Context, step sandbox.Step) (sandbox.Undo, error) {
	var p place
	if err := decode(step.Schema, step.Kind, step.Data, &p, &p); err != nil {
		return sandbox.Undo{}, err
	}
	u := undo{place: p}
	parent, err := openDir(unix.AT_FDCWD, p.Parent)
	if err != nil {
		return sandbox.Undo{}, err
	}
	defer parent.Close()
	if err := s.kernel(parent); err != nil {
		return sandbox.Undo{}, fmt.Errorf("describing %v: %w", p, err)
	}
	if u.ParentID, err = identity(parent); err != nil {
		return sandbox.Undo{}, err
	}
	switch found, err := openDir(int(parent.Fd()), p.Name); {
	case err == nil:
		defer found.Close()
		before, err := identity(found)
		if err != nil {
			return sandbox.Undo{}, err
		}
		u.Before = &before
	case !errors.Is(err, fs.ErrNotExist):
		return sandbox.Undo{}, err
	}
	data, err := json.Marshal(u)
	if err != nil {
		return sandbox.Undo{}, fmt.Errorf("describing %v: %w", p, err)
	}
	return sandbox.Undo{Schema: schema, Kind: Kind, Data: data}, nil
}

// Apply makes the directory and proves that it holds what limits need (see sandbox.Backend).
func (s *Steps) Apply(_ context.Context, _ sandbox.Step, un sandbox.Undo) error {
	u, err := decodeUndo(un)
	if err != nil {
		return err
	}
	parent, err := openDir(unix.AT_FDCWD, u.Parent)
	if err != nil {
		return err
	}
	defer parent.Close()
	now, err := identity(parent)
	if err != nil {
		return err
	}
	if now != u.ParentID {
		return fmt.Errorf("making control group %v: its parent is another directory than before", u.place)
	}
	if err := s.kernel(parent); err != nil {
		return fmt.Errorf("making control group %v: %w", u.place, err)
	}
	if err := s.files.Mkdir(parent, u.Name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making control group: %w", err)
	}
	dir, err := openDir(int(parent.Fd()), u.Name)
	if err != nil {
		return err
	}
	defer dir.Close()
	made, err := identity(dir)
	if err != nil {
		return err
	}
	if u.Before != nil && *u.Before == made {
		return fmt.Errorf("making control group %v: it exists and is not this task's", u.place)
	}
	for _, name := range u.needed() {
		if err := unix.Faccessat(int(dir.Fd()), name, access(name), unix.AT_EACCESS); err != nil {
			return fmt.Errorf("proving control group %v: %s: %w", u.place, name, err)
		}
	}
	s.mu.Lock()
	s.made[u.String()] = made
	s.mu.Unlock()
	return nil
}

// needed lists the files without which the directory limits nothing.
func (p place) needed() []string {
	names := []string{"cgroup.procs"}
	for _, c := range p.Controllers {
		switch {
		case c == memory && p.Version == 2:
			names = append(names, "memory.max")
		case c == memory:
			names = append(names, "memory.limit_in_bytes")
		case c == pids:
			names = append(names, "pids.max", pidsEvents)
		case c == freezer:
			names = append(names, "freezer.state")
		}
	}
	return names
}

func access(name string) uint32 {
	if name == pidsEvents {
		return unix.R_OK
	}
	return unix.W_OK
}

// Revert kills what is left inside, removes the directory and verifies its absence (see sandbox.Backend). A parent that is
// gone or another one, and a directory that is not the one made, mean that ours is gone already. What is not on a control
// group file system, or has not the name of un's task, was never made here: it is refused.
func (s *Steps) Revert(ctx context.Context, un sandbox.Undo) error {
	u, err := decodeUndo(un)
	if err != nil {
		return err
	}
	if (un.Instance != "" || un.Task != "") && u.Name != groupName(un.Instance, un.Task) {
		return fmt.Errorf("reading a control group step: %v is no group of task %s", u.place, un.Task)
	}
	ctx, cancel := context.WithTimeout(ctx, revertTime)
	defer cancel()
	parent, err := openDir(unix.AT_FDCWD, u.Parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	if now, err := identity(parent); err != nil || now != u.ParentID {
		return err
	}
	if err := s.kernel(parent); err != nil {
		return fmt.Errorf("removing control group %v: %w", u.place, err)
	}
	for {
		dir, err := openDir(int(parent.Fd()), u.Name)
		if errors.Is(err, fs.ErrNotExist) {
			s.forget(u.String())
			return nil
		}
		if err != nil {
			return err
		}
		err = s.empty(ctx, u, dir)
		dir.Close()
		if errors.Is(err, errNotOurs) {
			return nil
		}
		if err == nil {
			err = s.files.Rmdir(parent, u.Name)
		}
		if err == nil {
			continue // the next look proves the absence
		}
		// A process that was just killed can hold the directory for a moment.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("removing control group: %w", err)
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("removing control group %v: %w", u.place, err)
		}
	}
}

var errNotOurs = errors.New("not the directory that was made")

func (s *Steps) empty(ctx context.Context, u *undo, dir *os.File) error {
	now, err := identity(dir)
	if err != nil {
		return err
	}
	s.mu.Lock()
	made, known := s.made[u.String()]
	s.mu.Unlock()
	if u.Before != nil && *u.Before == now || known && made != now {
		return errNotOurs
	}
	k := killer{files: s.files, procs: dir}
	if u.Version == 2 {
		k.unified = dir
	} else if slices.Contains(u.Controllers, freezer) {
		k.freezer = dir
	}
	return k.kill(ctx)
}

func (s *Steps) forget(path string) {
	s.mu.Lock()
	delete(s.made, path)
	s.mu.Unlock()
}

func decodeUndo(un sandbox.Undo) (*undo, error) {
	u := &undo{}
	return u, decode(un.Schema, un.Kind, un.Data, u, &u.place)
}

// decode reads journal data: nothing in it leads anywhere but to one named element below an absolute path.
func decode(version int, kind string, data []byte, into any, p *place) error {
	if version != schema || kind != Kind {
		return fmt.Errorf("reading a control group step: kind %q with schema %d is not known", kind, version)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("reading a control group step: %w", err)
	}
	if p.Version != 1 && p.Version != 2 || p.Parent == "" || p.Parent[0] != '/' {
		return fmt.Errorf("reading a control group step: version %d below %q", p.Version, p.Parent)
	}
	if !ourName().MatchString(p.Name) {
		return fmt.Errorf("reading a control group step: %q is no name of ours", p.Name)
	}
	return nil
}

// onCgroup proves that the kernel makes and removes groups there, and that no file is ever lost by it.
func onCgroup(dir *os.File) error {
	var st unix.Statfs_t
	for {
		switch err := unix.Fstatfs(int(dir.Fd()), &st); {
		case err == unix.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("inspecting %s: %w", dir.Name(), err)
		case st.Type != unix.CGROUP_SUPER_MAGIC && st.Type != unix.CGROUP2_SUPER_MAGIC:
			return fmt.Errorf("%s is not on a control group file system", dir.Name())
		}
		return nil
	}
}
