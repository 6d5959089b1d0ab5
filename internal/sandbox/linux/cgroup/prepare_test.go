//go:build linux

package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
)

// hierarchy2 is a version 2 file system that knows where one process is, lists what a group holds, and applies the rules that
// Prepare depends on: no controller for children of a group with processes in it, and only those it has itself.
type hierarchy2 struct {
	fileop.FS
	t      *testing.T
	root   string
	own    string           // the process's group, "/a/b"
	others map[string][]int // further processes by group
	breaks string           // a file that cannot be written
}

const self = 4711

func newHierarchy2(t *testing.T, own string, groups ...string) *hierarchy2 {
	h := &hierarchy2{FS: fileop.OS(), t: t, root: t.TempDir(), own: own, others: map[string][]int{}}
	h.group("", "memory pids cpu")
	for _, g := range groups {
		h.group(g, "memory pids cpu")
	}
	h.list()
	return h
}

func (h *hierarchy2) put(group, file, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.root, group, file), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hierarchy2) group(name, controllers string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Join(h.root, name), 0o755); err != nil {
		h.t.Fatal(err)
	}
	h.put(name, "cgroup.controllers", controllers+"\n")
	h.put(name, "cgroup.subtree_control", "\n")
	h.put(name, "cgroup.procs", "")
}

// list writes every cgroup.procs.
func (h *hierarchy2) list() {
	filepath.WalkDir(h.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			h.put(strings.TrimPrefix(path, h.root), "cgroup.procs", h.inside(strings.TrimPrefix(path, h.root)))
		}
		return nil
	})
}

func (h *hierarchy2) inside(group string) string {
	text := ""
	if h.own == group || h.own == "/" && group == "" {
		text = fmt.Sprintln(self)
	}
	for _, pid := range h.others[group] {
		text += fmt.Sprintln(pid)
	}
	return text
}

func (h *hierarchy2) Write(f *os.File, p []byte) error {
	dir, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return err
	}
	file := filepath.Base(dir)
	group := strings.TrimPrefix(filepath.Dir(dir), h.root)
	defer h.list()
	switch {
	case file == h.breaks:
		return os.ErrPermission
	case file == "cgroup.procs" && string(p) == fmt.Sprint(self):
		h.own = group
		return nil
	case file == "cgroup.subtree_control" && string(p) == "+memory +pids":
		if h.inside(group) != "" {
			h.put(group, file, "")
			return errBusy
		}
		h.put(group, file, "memory pids\n")
		return nil
	}
	h.t.Errorf("%s was written to %s of %s", p, file, group)
	return os.ErrInvalid
}

func (h *hierarchy2) Mkdir(dir *os.File, name string, perm fs.FileMode) error {
	path := filepath.Join(strings.TrimPrefix(dir.Name(), h.root), name)
	if _, err := os.Stat(h.root + path); err == nil {
		return fs.ErrExist
	}
	given, _ := os.ReadFile(dir.Name() + "/cgroup.subtree_control")
	h.group(path, strings.TrimSpace(string(given)))
	return nil
}

func (h *hierarchy2) Rmdir(dir *os.File, name string) error {
	return os.RemoveAll(filepath.Join(dir.Name(), name))
}

// server is one on this machine, with v1 mounts if there are any.
func (h *hierarchy2) server(v1 string) server {
	return server{files: h, pid: self, booted: func() bool { return true }, delegated: func(string) bool { return false },
		scope: func(context.Context, string, int) error { return errors.New("no bus") },
		look: func() (*machine, error) {
			return &machine{parseMounts(line(h.root, "/", "cgroup2", "") + v1), parseOwn("0::" + h.own + "\n")}, nil
		}}
}

// proves A-SBX-02, A-TX-06
func TestPrepare(t *testing.T) {
	scoped := func(h *hierarchy2, below string) func(context.Context, string, int) error {
		return func(_ context.Context, name string, pid int) error {
			if pid != self {
				t.Errorf("a scope for %d", pid)
			}
			h.own = below + "/" + name
			h.group(h.own, "memory pids cpu")
			h.list()
			return nil
		}
	}
	for _, tt := range []struct {
		name    string
		own     string
		arrange func(h *hierarchy2, s *server)
		want    string // the driver's place, SCOPE for the made name; or part of what was tried
		moved   string // where the process is afterwards
		refused bool
	}{
		{name: "a delegated group of its own", own: "/user/mine", arrange: func(h *hierarchy2, s *server) {
			s.delegated = func(d string) bool { return strings.HasSuffix(d, "/mine") }
		},
			want: "cgroup v2: R/user/mine", moved: "/user/mine/" + leaf},
		{name: "its own group, where nobody manages groups", own: "/user/mine", arrange: func(h *hierarchy2, s *server) { s.booted = func() bool { return false } },
			want: "cgroup v2: R/user/mine", moved: "/user/mine/" + leaf},
		{name: "a second server in the leaf of the first", own: "/user/mine/" + leaf, arrange: func(h *hierarchy2, s *server) { h.put("/user/mine", "cgroup.subtree_control", "memory pids") },
			want: "cgroup v2: R/user/mine", moved: "/user/mine/" + leaf},
		{name: "a leaf that a dead server left", own: "/user/mine", arrange: func(h *hierarchy2, s *server) {
			h.group("/user/mine/"+leaf, "")
			s.delegated = func(string) bool { return true }
		}, want: "cgroup v2: R/user/mine", moved: "/user/mine/" + leaf},
		{name: "a delegated group with other processes, and systemd", own: "/user/mine", arrange: func(h *hierarchy2, s *server) {
			h.others["/user/mine"] = []int{99}
			s.delegated = func(string) bool { return true }
			s.scope = scoped(h, "/user")
		}, want: "cgroup v2: R/user/SCOPE", moved: "/user/SCOPE/" + leaf},
		{name: "a session's group, and systemd", own: "/user/session", arrange: func(h *hierarchy2, s *server) { s.scope = scoped(h, "/user") },
			want: "cgroup v2: R/user/SCOPE", moved: "/user/SCOPE/" + leaf},
		{name: "systemd before a group of others above", own: "/user/session", arrange: func(h *hierarchy2, s *server) {
			h.put("/user", "cgroup.subtree_control", "memory pids")
			s.scope = scoped(h, "/user")
		}, want: "cgroup v2: R/user/SCOPE", moved: "/user/SCOPE/" + leaf},
		{name: "no bus, and a group above that gives both", own: "/user/session", arrange: func(h *hierarchy2, s *server) { h.put("/user", "cgroup.subtree_control", "memory pids") },
			want: "cgroup v2: R/user", moved: "/user/session"},
		{name: "no bus and nothing else", own: "/user/session", arrange: func(*hierarchy2, *server) {}, want: "no bus", moved: "/user/session", refused: true},
		{name: "systemd says done and moves nothing", own: "/user/session", arrange: func(h *hierarchy2, s *server) { s.scope = func(context.Context, string, int) error { return nil } },
			want: `this process is in "/user/session" afterwards`, moved: "/user/session", refused: true},
		{name: "a scope without controllers", own: "/user/session", arrange: func(h *hierarchy2, s *server) {
			s.scope = func(_ context.Context, name string, _ int) error {
				h.own = "/user/bare/" + name
				h.group(h.own, "cpu")
				h.list()
				return nil
			}
		}, want: `controllers "cpu", memory and pids are needed`, moved: "/user/bare/SCOPE", refused: true},
		{name: "controllers that cannot be given", own: "/user/mine", arrange: func(h *hierarchy2, s *server) {
			h.breaks, s.delegated = "cgroup.subtree_control", func(string) bool { return true }
		}, want: "permission denied", moved: "/user/mine", refused: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHierarchy2(t, tt.own, "/user/mine", "/user/session")
			if !strings.HasSuffix(tt.own, "mine") && !strings.HasSuffix(tt.own, "session") {
				h.group(tt.own, "")
				h.list()
			}
			s := h.server("")
			tt.arrange(h, &s)
			h.list()
			d, err := s.prepare(t.Context(), "auto")
			name := func(s string) string {
				for part := range strings.SplitSeq(s, "/") {
					if strings.HasPrefix(part, fmt.Sprintf("agent-mcp-%d-", self)) {
						s = strings.Replace(s, part, "SCOPE", 1)
					}
				}
				return strings.ReplaceAll(s, h.root, "R")
			}
			if diff := cmp.Diff(tt.moved, name(h.own)); diff != "" {
				t.Errorf("the process (-want +got):\n%s", diff)
			}
			if tt.refused {
				f := fault.As(err)
				if f == nil || f.Code != fault.ResourceMemoryUnenforceable || !strings.Contains(f.Args["tried"], tt.want) {
					t.Errorf("got %v, %v; want a refusal that tells %q", d, err, tt.want)
				}
				left, _ := filepath.Glob(h.root + tt.own + "/" + leaf)
				if len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, name(d.String())); diff != "" {
				t.Errorf("the place (-want +got):\n%s", diff)
			}
			again, err := s.prepare(t.Context(), "auto")
			if err != nil || again.String() != d.String() {
				t.Errorf("a second time: %v, %v", again, err)
			}
			if steps, err := d.Plan("i", "t"); err != nil || len(steps) != 1 {
				t.Errorf("Plan: %v, %v", steps, err)
			}
		})
	}
}

// proves A-PRI-05
func TestPrepareMakesNothingWhereItIsNotAsked(t *testing.T) {
	v1 := tree(t, map[string]string{"memory/own/": "", "pids/": "", "given/cgroup.subtree_control": "memory pids", "given/cgroup.procs": ""})
	mounts := line(v1+"/memory", "/", "cgroup", "memory") + line(v1+"/pids", "/", "cgroup", "pids")
	for name, arrange := range map[string]func(h *hierarchy2, s *server) string{
		"limits on version 1": func(h *hierarchy2, s *server) string {
			h.put("", "cgroup.controllers", "cpu\n")
			look := s.look
			s.look = func() (*machine, error) {
				m, err := look()
				m.own[memory], m.own[pids] = "/own", "/"
				return m, err
			}
			return "auto"
		},
		"a configured group": func(h *hierarchy2, s *server) string {
			h.put("/user", "cgroup.subtree_control", "memory pids")
			return h.root + "/user"
		},
	} {
		h := newHierarchy2(t, "/user/session", "/user/session")
		s := h.server(mounts)
		s.scope = func(context.Context, string, int) error {
			t.Errorf("%s: systemd was asked", name)
			return nil
		}
		setting := arrange(h, &s)
		if d, err := s.prepare(t.Context(), setting); err != nil || h.own != "/user/session" {
			t.Errorf("%s: %v, %v; the process is in %s", name, d, err, h.own)
		}
	}
}

// proves A-SBX-06
func TestBusAddress(t *testing.T) {
	dir := t.TempDir()
	if _, err := busAddress(1000, func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": dir}[name] }); err == nil {
		t.Error("no socket is there, and one was named")
	}
	for _, tt := range []struct {
		uid     int
		address string
		want    string
	}{
		{0, "unix:path=/elsewhere", systemSocket},
		{1000, "unix:path=/run/user/1000/bus", "unix:path=/run/user/1000/bus"},
		{1000, "unix:abstract=/tmp/dbus-x,guid=00", "unix:abstract=/tmp/dbus-x,guid=00"},
		{1000, "tcp:host=192.0.2.1,port=1;unix:path=/b", "unix:path=/b"},
		{1000, "unixexec:path=/bin/sh,argv1=-c,argv2=true", ""},
		{1000, "autolaunch:", ""}, {1000, "nonce-tcp:host=x", ""}, {1000, "unix:tmpdir=/tmp", ""},
	} {
		got, err := busAddress(tt.uid, func(name string) string {
			return map[string]string{"DBUS_SESSION_BUS_ADDRESS": tt.address, "XDG_RUNTIME_DIR": dir}[name]
		})
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%d %s: got %q, %v; want %q", tt.uid, tt.address, got, err, tt.want)
		}
	}
}

func TestNonceDiffers(t *testing.T) {
	if seen := []string{nonce(), nonce(), nonce()}; len(slices.Compact(seen)) != 3 || len(seen[0]) != 8 {
		t.Errorf("got %v", seen)
	}
}
