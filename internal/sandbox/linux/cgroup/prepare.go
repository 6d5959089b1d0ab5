//go:build linux

package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
)

// leaf is the directory into which the server itself moves, because a version 2 group that gives controllers to its
// children may hold no process of its own.
const leaf = "agent-mcp-server"

// Prepare is Select for a server that starts: where "auto" would find no version 2 group that is this server's own, it
// makes one. First choice is the group that the server runs in, if it was delegated and holds nothing else; second, a
// scope that is asked of systemd. Both end with the server: a scope goes when its last process does. Nothing is made where
// version 2 has no memory or pids controller, or the setting names a path. A failure on the way is no error as long as
// Select finds a place; otherwise it is told among what was tried.
func Prepare(ctx context.Context, setting string, files fileop.FS) (Driver, error) {
	return server{files: files, pid: os.Getpid(), look: thisMachine, scope: systemdScope, booted: booted, delegated: delegated}.prepare(ctx, setting)
}

// server is the process to be placed and what it asks; tests replace the functions.
type server struct {
	files fileop.FS
	pid   int
	look  func() (*machine, error)
	// scope asks the service manager to move pid into a new delegated scope of that name.
	scope func(ctx context.Context, name string, pid int) error
	// booted tells whether systemd manages this machine, delegated whether it gave a group away.
	booted    func() bool
	delegated func(dir string) bool
}

func (s server) prepare(ctx context.Context, setting string) (Driver, error) {
	m, err := s.look()
	if err != nil {
		return nil, unreadable(setting, err)
	}
	if setting != "auto" || !m.unifiedLimits() {
		return m.choose(setting, s.files)
	}
	tried := s.acquire(ctx, m)
	if m, err = s.look(); err != nil {
		return nil, unreadable(setting, err)
	}
	d, err := m.choose(setting, s.files)
	if f := fault.As(err); f != nil && tried != nil {
		return nil, m.refuse(setting, errors.Join(tried, f.Unwrap()))
	}
	return d, err
}

// acquire tries to get this server a group of its own.
func (s server) acquire(ctx context.Context, m *machine) error {
	u, _ := m.unified()
	own := u.dir(m.own[""])
	if own == "" {
		return errors.New("this process's version 2 group is outside its mount")
	}
	if filepath.Base(own) == leaf || m.usable2(u, own) == nil {
		return nil
	}
	managed := s.booted()
	var refusal error
	if own != u.point && (s.delegated(own) || !managed) {
		if refusal = s.settle(own); refusal == nil {
			return nil
		}
	}
	if !managed {
		return refusal
	}
	name := fmt.Sprintf("agent-mcp-%d-%s.scope", s.pid, nonce())
	if err := s.scope(ctx, name, s.pid); err != nil {
		return errors.Join(refusal, fmt.Errorf("asking systemd for the scope %s: %w", name, err))
	}
	m, err := s.look()
	if err != nil {
		return err
	}
	if u, _ = m.unified(); filepath.Base(m.own[""]) != name || u.dir(m.own[""]) == "" {
		return errors.Join(refusal, fmt.Errorf("asking systemd for the scope %s: this process is in %q afterwards", name, m.own[""]))
	}
	return errors.Join(refusal, s.settle(u.dir(m.own[""])))
}

// settle moves this process, which must be alone in dir, into a leaf below and gives memory and pids to the children of
// dir. On error the process is where it was.
func (s server) settle(path string) (err error) {
	dir, err := openDir(unix.AT_FDCWD, path)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, p := range []string{path, path + "/cgroup.procs", path + "/cgroup.subtree_control"} {
		if err := writable(p); err != nil {
			return err
		}
	}
	if has, err := read(dir, "cgroup.controllers"); err != nil || !limiting(has) {
		return errors.Join(fmt.Errorf("%s: controllers %q, memory and pids are needed", path, has), err)
	}
	if inside, err := procs(dir); err != nil || !slices.Equal(inside, []int{s.pid}) {
		return errors.Join(fmt.Errorf("%s: processes %v are in it, and only this one may be", path, inside), err)
	}
	// The leaf of a server that died may still be there, with nothing in it.
	if err := s.files.Mkdir(dir, leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("making control group: %w", err)
	}
	below, err := openDir(int(dir.Fd()), leaf)
	if err != nil {
		return err
	}
	defer below.Close()
	if err = write(s.files, below, "cgroup.procs", strconv.Itoa(s.pid)); err == nil {
		if err = write(s.files, dir, "cgroup.subtree_control", "+memory +pids"); err == nil {
			var given string
			if given, err = read(dir, "cgroup.subtree_control"); err == nil && !limiting(given) {
				err = fmt.Errorf("%s: it gives %q to its children, not memory and pids", path, given)
			}
		}
		if err != nil {
			err = errors.Join(err, write(s.files, dir, "cgroup.procs", strconv.Itoa(s.pid)))
		}
	}
	if err != nil {
		return errors.Join(err, s.files.Rmdir(dir, leaf))
	}
	return nil
}

// limiting tells whether a list of controllers has those that limits need.
func limiting(list string) bool {
	has := strings.Fields(list)
	return slices.Contains(has, memory) && slices.Contains(has, pids)
}

// unifiedLimits tells whether version 2 is mounted and has the controllers that limits need.
func (m *machine) unifiedLimits() bool {
	u, ok := m.unified()
	if !ok {
		return false
	}
	has, err := os.ReadFile(u.point + "/cgroup.controllers")
	return err == nil && limiting(string(has))
}

// booted is what sd_booted(3) asks.
func booted() bool {
	st, err := os.Lstat("/run/systemd/system")
	return err == nil && st.IsDir()
}

// delegated reads systemd's mark on a group that it gave away; its own manager cannot always set the first one.
func delegated(dir string) bool {
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Lgetxattr(dir, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}
