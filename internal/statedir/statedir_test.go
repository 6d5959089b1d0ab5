//go:build linux

package statedir

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
)

// TestMain lets the test binary be another server process.
func TestMain(m *testing.M) {
	switch os.Getenv("STATEDIR_ROLE") {
	case "server": // holds an instance until killed
		d, err := Open(fileop.OS(), os.Getenv("STATEDIR_ROOT"))
		if err != nil {
			panic(err)
		}
		i, err := d.NewInstance(context.Background())
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(i.ID() + "\n")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "remove":
		removeAsOther()
		return
	}
	os.Exit(m.Run())
}

func openState(t *testing.T) *Dir {
	t.Helper()
	d, err := Open(fileop.OS(), filepath.Join(t.TempDir(), "state", "agent-mcp"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func newInstance(t *testing.T, d *Dir) *Instance {
	t.Helper()
	i, err := d.NewInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	return i
}

// proves A-CFG-07
func TestRoot(t *testing.T) {
	for _, c := range []struct{ xdg, home, want string }{
		{"/x", "/home/u", "/x/agent-mcp"},
		{"", "/home/u", "/home/u/.local/state/agent-mcp"},
		{"relative", "/home/u", "/home/u/.local/state/agent-mcp"},
		{"", "", ""},
		{"", "relative", ""},
	} {
		env := map[string]string{"XDG_STATE_HOME": c.xdg, "HOME": c.home}
		got, err := Root(func(k string) string { return env[k] })
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("Root(%q, %q) = %q, %v; want %q", c.xdg, c.home, got, err, c.want)
		}
	}
}

// proves A-CFG-07
func TestTheStateRootIsPrivate(t *testing.T) {
	d := openState(t)
	sub, err := d.Sub("logs")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	i := newInstance(t, d)
	for _, path := range []string{filepath.Dir(d.Path()), d.Path(), sub.Name(), filepath.Dir(i.Path()), i.Path()} {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %#o, want 0700", path, st.Mode().Perm())
		}
	}
}

// proves A-CFG-07
func TestOpenRefusesWhatIsNotPrivate(t *testing.T) {
	for name, prepare := range map[string]func(root string) error{
		"open to others": func(root string) error { return errors.Join(os.Mkdir(root, 0o700), os.Chmod(root, 0o750)) },
		"a link": func(root string) error {
			return errors.Join(os.Mkdir(root+".d", 0o700), os.Symlink(root+".d", root))
		},
		"a file": func(root string) error { return os.WriteFile(root, nil, 0o600) },
	} {
		root := filepath.Join(t.TempDir(), "agent-mcp")
		if err := prepare(root); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(root)
		d, err := Open(fileop.OS(), root)
		if err == nil {
			d.Close()
		}
		if e := fault.As(err); e == nil || e.Code != fault.StateUnusable || e.Target != root {
			t.Errorf("%s: error %v, want state.unusable naming %s", name, err, root)
		}
		if after, _ := os.Lstat(root); after.Mode() != before.Mode() {
			t.Errorf("%s: mode was changed", name)
		}
	}
	if _, err := Open(fileop.OS(), "relative"); fault.CodeOf(err) != fault.StateUnusable {
		t.Errorf("relative root: %v", err)
	}
}

// proves A-TX-06
func TestInstancesOfLivingServersAreLeftAlone(t *testing.T) {
	d := openState(t)
	own := newInstance(t, d)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "STATEDIR_ROLE=server", "STATEDIR_ROOT="+d.Path())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 17)
	if _, err := io.ReadFull(out, id); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(d.Path(), "instances", string(id[:16]))

	r, err := d.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Instances) != 0 {
		t.Errorf("living instances were taken: %v", r.Instances)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{own.Path(), other} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("a living instance lost its directory: %v", err)
		}
	}

	cmd.Process.Kill()
	cmd.Wait()
	r, err = d.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Instances) != 1 || r.Instances[0].Path() != other {
		t.Fatalf("abandoned = %v, want %s", r.Instances, other)
	}
	keep, err := r.Instances[0].Sub("recovery")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(keep.Name(), "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	keep.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(other, "recovery", "x")); err != nil {
		t.Errorf("what could not be cleaned was removed: %v", err)
	}
	if err := os.Remove(filepath.Join(other, "recovery", "x")); err != nil {
		t.Fatal(err)
	}
	r, err = d.Recover(t.Context())
	if err != nil || len(r.Instances) != 1 {
		t.Fatalf("Recover = %v, %v", r, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the clean abandoned instance is still there: %v", err)
	}
}

// proves A-TX-06
func TestStartingServersRecoverOneAfterAnother(t *testing.T) {
	d := openState(t)
	first, err := d.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := Open(fileop.OS(), d.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.Recover(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("a second recovery got in: %v", err)
	}
	if _, err := second.NewInstance(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("an instance was born during recovery: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := second.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// proves A-TX-06
func TestInstanceIDsAreUnique(t *testing.T) {
	d := openState(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	ids := map[string]bool{}
	for range 8 {
		wg.Go(func() {
			other, err := Open(fileop.OS(), d.Path())
			if err != nil {
				t.Error(err)
				return
			}
			defer other.Close()
			for range 5 {
				i, err := other.NewInstance(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ids[i.ID()] = true
				mu.Unlock()
				if err := i.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(ids) != 40 {
		t.Errorf("%d different ids, want 40", len(ids))
	}
	if left, _ := os.ReadDir(filepath.Join(d.Path(), "instances")); len(left) != 0 {
		t.Errorf("closed instances left %v", left)
	}
}
