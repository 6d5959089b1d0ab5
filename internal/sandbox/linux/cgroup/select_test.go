//go:build linux

package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
)

// tree makes directories and files of a machine that does not exist; names that end in "/" are directories.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// line is one line of mountinfo.
func line(point, root, fstype, options string) string {
	return "36 35 0:33 " + root + " " + point + " rw,relatime shared:7 - " + fstype + " none rw," + options + "\n"
}

// proves A-SBX-02, A-PRI-05
func TestChoose(t *testing.T) {
	unified := map[string]string{
		"u/cgroup.subtree_control": "cpu memory pids\n", "u/cgroup.procs": "",
		"u/user/cgroup.subtree_control": "memory pids\n", "u/user/cgroup.procs": "",
		"u/user/app/cgroup.subtree_control": "\n", "u/user/app/cgroup.procs": "",
		"u/bare/cgroup.subtree_control": "cpu\n", "u/bare/cgroup.procs": "",
	}
	v1 := map[string]string{"memory/own/": "", "pids/": "", "freezer/": "", "memory/given/": "", "pids/given/": "", "freezer/given/": "", "u/cgroup.subtree_control": "\n"}
	v1Mounts := func(r string) string {
		return line(r+"/u", "/", "cgroup2", "") + line(r+"/memory", "/", "cgroup", "memory") + line(r+"/pids", "/", "cgroup", "pids") + line(r+"/freezer", "/", "cgroup", "freezer")
	}
	for _, tt := range []struct {
		name    string
		files   map[string]string
		mounts  func(root string) string
		own     string
		setting string
		want    string // with R for the root; empty means refused
		command string // part of the command of a refusal
	}{
		{"nearest group above that gives both controllers", unified, func(r string) string { return line(r+"/u", "/", "cgroup2", "") }, "0::/user/app\n", "auto", "cgroup v2: R/u/user", ""},
		{"the mount shows only a part", unified, func(r string) string { return line(r+"/u", "/machine", "cgroup2", "") }, "0::/machine/user\n", "auto", "cgroup v2: R/u/user", ""},
		{"a configured group", unified, func(r string) string { return line(r+"/u", "/", "cgroup2", "") }, "0::/user/app\n", "R/u/user", "cgroup v2: R/u/user", ""},
		{"a configured group without controllers", unified, func(r string) string { return line(r+"/u", "/", "cgroup2", "") }, "0::/\n", "R/u/bare", "", "/u/bare/cgroup.subtree_control"},
		{"a configured path that is no group", unified, func(r string) string { return line(r+"/u", "/", "cgroup2", "") }, "0::/\n", "/nowhere", "", "systemd-run --user"},
		{"nothing above gives controllers", map[string]string{"u/cgroup.subtree_control": "\n"}, func(r string) string { return line(r+"/u", "/", "cgroup2", "") }, "0::/\n", "auto", "", "systemd-run --user --scope"},
		{"version 1, own groups", v1, v1Mounts, "8:pids:/\n6:freezer:/\n4:memory:/own\n0::/\n", "auto", "cgroup v1: R/memory/own, R/pids, R/freezer", ""},
		{"version 1, configured in one hierarchy", v1, v1Mounts, "8:pids:/\n4:memory:/own\n0::/\n", "R/memory/given", "cgroup v1: R/memory/given, R/pids/given, R/freezer/given", ""},
		{"version 1, mounted together", map[string]string{"mp/own/": ""}, func(r string) string { return line(r+"/mp", "/", "cgroup", "memory,pids") }, "4:memory,pids:/own\n", "auto", "cgroup v1: R/mp/own", ""},
		{"version 1 without pids", map[string]string{"memory/": ""}, func(r string) string { return line(r+"/memory", "/", "cgroup", "memory") }, "4:memory:/\n", "auto", "", "mount -t cgroup2"},
		{"version 1, own group is gone", v1, v1Mounts, "8:pids:/\n4:memory:/gone\n0::/\n", "auto", "", "chown"},
		{"no control groups", nil, func(string) string { return "36 35 0:33 / / rw - ext4 /dev/sda rw\n" }, "", "auto", "", "mount -t cgroup2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, tt.files)
			m := &machine{parseMounts(tt.mounts(root)), parseOwn(tt.own)}
			d, err := m.choose(strings.Replace(tt.setting, "R", root, 1), fileop.OS())
			if tt.want == "" {
				f := fault.As(err)
				if f == nil || f.Code != fault.ResourceMemoryUnenforceable || !strings.Contains(f.Args["command"], tt.command) || f.Target == "" {
					t.Errorf("got %v, %v; want %s with a command like %q", d, err, fault.ResourceMemoryUnenforceable, tt.command)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strings.ReplaceAll(d.String(), root, "R")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{`/a\040b`: "/a b", `/a\134`: `/a\`, `/a\04`: `/a\04`, `\x`: `\x`, "": ""} {
		if got := unescape(in); got != want {
			t.Errorf("unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzMountinfo(f *testing.F) {
	f.Add(line("/sys/fs/cgroup", "/", "cgroup2", ""), "0::/a\n")
	f.Add("1 2 3 - cgroup", "a:b\n::")
	f.Fuzz(func(t *testing.T, info, own string) {
		m := &machine{parseMounts(info), parseOwn(own)}
		for _, mt := range m.mounts {
			if dir := mt.dir(m.own["memory"]); dir != "" && !within(filepath.Clean(mt.point), dir) {
				t.Errorf("group %q of mount %+v leads to %q", m.own["memory"], mt, dir)
			}
		}
	})
}

// proves A-TX-06
func TestPlanNamesInstanceAndTask(t *testing.T) {
	d := &driver{files: fileop.OS(), places: []place{{Version: 2, Controllers: []string{memory, pids}, Parent: "/g"}}}
	steps, err := d.Plan("i1", "t-2")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":2,"controllers":["memory","pids"],"parent":"/g","name":"agent-mcp-i1-t-2"}`
	if len(steps) != 1 || string(steps[0].Data) != want || steps[0].Kind != Kind || steps[0].Schema != schema {
		t.Errorf("got %s, want one step %s", steps[0].Data, want)
	}
	for _, bad := range []string{"", "..", "a/b", "a\n", strings.Repeat("x", 65)} {
		if _, err := d.Plan("i", bad); err == nil {
			t.Errorf("Plan took task %q", bad)
		}
	}
}

// proves A-TX-01
func TestDamagedJournalDataIsRefused(t *testing.T) {
	steps := NewSteps(fileop.OS())
	for _, data := range []string{``, `{`, `{"version":3,"parent":"/x","name":"y"}`, `{"version":2,"parent":"x","name":"y"}`, `{"version":2,"parent":"/x","name":".."}`, `{"version":2,"parent":"/x","name":"a/b"}`} {
		u := undoOf(data)
		if err := steps.Revert(t.Context(), u); err == nil {
			t.Errorf("Revert took %s", data)
		}
		if err := steps.Apply(t.Context(), stepOf(data), u); err == nil {
			t.Errorf("Apply took %s", data)
		}
	}
	u := undoOf(`{"version":2,"parent":"/nonexistent","name":"y"}`)
	if err := steps.Revert(t.Context(), u); err != nil {
		t.Errorf("a parent that is gone: %v", err)
	}
	u.Kind = "other"
	if err := steps.Revert(t.Context(), u); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("Revert took another kind: %v", err)
	}
}
