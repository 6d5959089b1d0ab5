//go:build linux

package filter

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/opcode/opcodetest"
)

func landlockHelper(dir string) error {
	b := &opcode.Builder{}
	ruleset, err := Ruleset(b, []PathRule{
		{Path: "/usr", Rights: sandbox.Read | sandbox.Execute},
		{Path: "/dev/null", Rights: sandbox.Read | sandbox.Write, File: true},
		{Path: dir + "/r", Rights: sandbox.Read},
		{Path: dir + "/rw", Rights: sandbox.Read | sandbox.Write},
		{Path: dir + "/rwd", Rights: sandbox.Read | sandbox.Write | sandbox.Delete},
		{Path: dir + "/rwdx", Rights: sandbox.Read | sandbox.Write | sandbox.Delete | sandbox.Execute},
		{Path: dir + "/one", Rights: sandbox.Read, File: true},
		{Path: dir + "/list", List: true},
	}, nil)
	if err != nil {
		return err
	}
	noNewPrivileges(b)
	Enter(b, ruleset)
	if _, err := opcodetest.Run(b, CallName); err != nil {
		return err
	}
	out := map[string]string{}
	for _, root := range []string{"r", "rw", "rwd", "rwdx", "none", "list"} {
		for _, a := range actions {
			err := a.try(filepath.Join(dir, root))
			var errno unix.Errno
			switch {
			case err == nil:
				out[root+" "+a.name] = "ok"
			case errors.As(err, &errno):
				out[root+" "+a.name] = unix.ErrnoName(errno)
			default:
				out[root+" "+a.name] = err.Error()
			}
		}
	}
	_, err = os.ReadFile(dir + "/one")
	out["one read"] = fmt.Sprint(err)
	return json.NewEncoder(os.Stdout).Encode(out)
}

var actions = []struct {
	name string
	try  func(root string) error
}{
	{"read", func(r string) error { _, err := os.ReadFile(r + "/f"); return err }},
	{"list", func(r string) error { _, err := os.ReadDir(r); return err }},
	{"create", func(r string) error { return os.WriteFile(r+"/new", nil, 0o644) }},
	{"append", func(r string) error {
		f, err := os.OpenFile(r+"/f", os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			f.Close()
		}
		return err
	}},
	{"truncate", func(r string) error { return os.Truncate(r+"/f", 0) }},
	{"symlink", func(r string) error { return os.Symlink("f", r+"/s") }},
	{"mkdir", func(r string) error { return os.Mkdir(r+"/d2", 0o755) }},
	{"link", func(r string) error { return os.Link(r+"/f", r+"/d/l") }},
	{"fifo", func(r string) error { return unix.Mkfifo(r+"/p", 0o644) }},
	{"rename", func(r string) error { return os.Rename(r+"/f", r+"/g") }},
	{"exchange", func(r string) error { return unix.Renameat2(-1, r+"/x", -1, r+"/y", unix.RENAME_EXCHANGE) }},
	{"unlink", func(r string) error { return os.Remove(r + "/u") }},
	{"rmdir", func(r string) error { return unix.Rmdir(r + "/e") }},
	{"run", func(r string) error { return exec.Command(r + "/true").Run() }},
}

// proves A-SBX-01
func TestLandlockSplit(t *testing.T) {
	dir := t.TempDir()
	program, err := os.ReadFile("/usr/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"r", "rw", "rwd", "rwdx", "none", "list"} {
		for _, d := range []string{"/d", "/e"} {
			if err := os.MkdirAll(filepath.Join(dir, root, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range []string{"f", "x", "y", "u"} {
			write(t, filepath.Join(dir, root, f), []byte("x"))
		}
		write(t, filepath.Join(dir, root, "true"), program)
	}
	write(t, dir+"/one", []byte("x"))
	cmd := exec.Command("/proc/self/exe", dir)
	cmd.Env = append(os.Environ(), helperEnv+"=landlock")
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"one read": "<nil>"}
	granted := map[string]string{
		"r":    "read list",
		"rw":   "read list create append truncate symlink mkdir link fifo",
		"rwd":  "read list create append truncate symlink mkdir link fifo rename exchange unlink rmdir",
		"rwdx": "read list create append truncate symlink mkdir link fifo rename exchange unlink rmdir run",
		"none": "", "list": "list",
	}
	for root, ok := range granted {
		for _, a := range actions {
			want[root+" "+a.name] = "EACCES"
			if strings.Contains(" "+ok+" ", " "+a.name+" ") {
				want[root+" "+a.name] = "ok"
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
}
