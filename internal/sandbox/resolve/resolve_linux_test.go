package resolve

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func word(err error) string {
	f := fault.As(err)
	switch {
	case err == nil:
		return ""
	case f == nil:
		return "no fault: " + err.Error()
	case f.Variant != "":
		return string(f.Code) + "." + f.Variant
	}
	return string(f.Code)
}

// proves A-POL-02
func TestRoot(t *testing.T) {
	d := tempDir(t)
	must(t, os.MkdirAll(d+"/a/b", 0o755))
	must(t, os.WriteFile(d+"/file", nil, 0o644))
	must(t, syscall.Mkfifo(d+"/fifo", 0o644))
	for name, to := range map[string]string{"l": "a", "chain": "l/b", "x": "y", "y": "x", "gone": "nowhere", "abs": d + "/a/b"} {
		must(t, os.Symlink(to, d+"/"+name))
	}
	for _, c := range []struct{ path, want, problem string }{
		{d + "/a/b", d + "/a/b", ""},
		{d + "/a//b/../b/.", d + "/a/b", ""},
		{d + "/l/b", d + "/a/b", ""},
		{d + "/chain", d + "/a/b", ""},
		{d + "/abs/..", d + "/a", ""},
		{d + "/x", "", "sandbox.resolution_unconfirmed.cycle"},
		{d + "/gone", "", "sandbox.resolution_unconfirmed.missing"},
		{d + "/none", "", "sandbox.resolution_unconfirmed.missing"},
		{d + "/file", "", "sandbox.resolution_unconfirmed.not_directory"},
		{d + "/fifo", "", "sandbox.resolution_unconfirmed.not_directory"},
		{"relative", "", "sandbox.resolution_unconfirmed"},
		{d + "/a\x00", "", "sandbox.resolution_unconfirmed"},
		{"/proc/self/cwd", "", "sandbox.resolution_unconfirmed.cycle"}, // a magic link
	} {
		got, err := Root(c.path)
		if word(err) != c.problem || got.Path != c.want {
			t.Errorf("Root(%q) = %q, %q; want %q, %q", c.path, got.Path, word(err), c.want, c.problem)
		}
		if err == nil {
			st, err := os.Stat(c.want)
			must(t, err)
			s := st.Sys().(*syscall.Stat_t)
			if got.ID != (sandbox.FileID{Dev: s.Dev, Ino: s.Ino}) || got.Filesystem == "" || got.Declared != c.path {
				t.Errorf("Root(%q) = %+v", c.path, got)
			}
		}
	}
	if proc, err := Root("/proc"); err != nil || proc.Filesystem != "proc" {
		t.Errorf("Root(/proc) = %+v, %v", proc, err)
	}
}

// proves A-POL-04, A-POL-02
func TestExecutable(t *testing.T) {
	d := tempDir(t)
	must(t, os.WriteFile(d+"/prog", []byte("\x7fELF"), 0o755))
	must(t, os.WriteFile(d+"/script", []byte("#!/bin/sh\n"), 0o755))
	must(t, os.WriteFile(d+"/data", nil, 0o644))
	must(t, os.Symlink("prog", d+"/alias"))
	must(t, syscall.Mkfifo(d+"/fifo", 0o755))
	sum := sha256.Sum256([]byte("\x7fELF"))
	got, err := Executable(d + "/alias")
	must(t, err)
	if got.Path != d+"/prog" || got.SHA256 != hex.EncodeToString(sum[:]) || got.Interpreters != nil {
		t.Errorf("Executable = %+v", got)
	}
	if got, err := Executable(d + "/script"); err != nil || len(got.Interpreters) != 1 {
		t.Errorf("Executable(script) = %+v, %v", got, err)
	}
	for path, want := range map[string]string{
		d: "sandbox.resolution_unconfirmed.not_file", d + "/fifo": "sandbox.resolution_unconfirmed.not_file", "/dev/null": "sandbox.resolution_unconfirmed.not_file",
		d + "/none": "sandbox.resolution_unconfirmed.missing", d + "/data": "sandbox.resolution_unconfirmed.not_executable",
	} {
		if _, err := Executable(path); word(err) != want {
			t.Errorf("Executable(%q): %q, want %q", path, word(err), want)
		}
	}
}

// proves A-POL-04, A-POL-02
func TestVerify(t *testing.T) {
	d := tempDir(t)
	must(t, os.WriteFile(d+"/prog", []byte("one"), 0o755))
	must(t, os.Mkdir(d+"/w", 0o755))
	exe, err := Executable(d + "/prog")
	must(t, err)
	dir, err := Root(d + "/w")
	must(t, err)
	root := sandbox.Root{Path: dir.Path, ID: dir.ID}
	file := sandbox.Root{Path: exe.Path, ID: exe.ID, File: true}
	entry := sandbox.Entry{Path: exe.Path, SHA256: exe.SHA256}
	must(t, Verify(root))
	must(t, Verify(file))
	id, err := VerifyEntry(t.Context(), entry)
	must(t, err)
	if id != exe.ID {
		t.Errorf("identity %v, want %v", id, exe.ID)
	}

	must(t, os.WriteFile(d+"/prog", []byte("two"), 0o755)) // same object, other bytes
	if _, err := VerifyEntry(t.Context(), entry); word(err) != "executable.hash_changed" {
		t.Errorf("changed bytes: %v", err)
	}
	must(t, os.Rename(d+"/prog", d+"/moved"))
	must(t, os.WriteFile(d+"/prog", []byte("one"), 0o755)) // other object, same bytes
	if err := Verify(file); word(err) != "executable.resolution_changed" {
		t.Errorf("another object: %v", err)
	}
	must(t, os.Remove(d+"/prog"))
	must(t, os.Symlink("moved", d+"/prog"))
	must(t, os.WriteFile(d+"/moved", []byte("one"), 0o755))
	if _, err := VerifyEntry(t.Context(), entry); word(err) != "executable.resolution_changed" {
		t.Errorf("a link: %v", err)
	}
	must(t, os.Rename(d+"/w", d+"/v"))
	if err := Verify(root); word(err) != "sandbox.resolution_changed" {
		t.Errorf("a missing root: %v", err)
	}
	must(t, os.Symlink("v", d+"/w"))
	if err := Verify(root); word(err) != "sandbox.resolution_changed" {
		t.Errorf("a root behind a link: %v", err)
	}
}

// proves A-POL-09
func TestProtected(t *testing.T) {
	d := tempDir(t)
	must(t, os.MkdirAll(d+"/real/state", 0o755))
	must(t, os.Symlink("real", d+"/l"))
	p, err := Protected(d + "/l/state/instances/x")
	must(t, err)
	if p.Path != d+"/real/state/instances/x" {
		t.Errorf("Path = %q", p.Path)
	}
	parent, err := Root(d)
	must(t, err)
	state, err := Root(d + "/real/state")
	must(t, err)
	slash, err := Root("/")
	must(t, err)
	want := 3 + strings.Count(d, "/") // /, the elements of d, real, state
	if len(p.Above) != want || p.Above[0] != state.ID || p.Above[2] != parent.ID || p.Above[want-1] != slash.ID {
		t.Errorf("Above = %v", p.Above)
	}
}

// proves A-POL-01
func TestOSRuntime(t *testing.T) {
	roots, err := OSRuntime()
	must(t, err)
	if len(roots) == 0 || roots[0].Path != "/usr" {
		t.Fatalf("OSRuntime = %+v", roots)
	}
	for _, r := range roots {
		if real, err := filepath.EvalSymlinks(r.Path); err != nil || real != r.Path {
			t.Errorf("%s is a link", r.Path)
		}
	}
}

func TestHashFile(t *testing.T) {
	d := tempDir(t)
	for _, content := range []string{"", "#", "#!/bin/sh"} {
		must(t, os.WriteFile(d+"/f", []byte(content), 0o644))
		f, err := os.Open(d + "/f")
		must(t, err)
		if _, err := f.Seek(1, 0); err != nil {
			t.Fatal(err)
		}
		sum, err := HashFile(t.Context(), f)
		must(t, errors.Join(err, f.Close()))
		plain := sha256.Sum256([]byte(content))
		if sum != hex.EncodeToString(plain[:]) {
			t.Errorf("%q: SHA-256 %s", content, sum)
		}
	}
}

// proves A-POL-02
func TestWithin(t *testing.T) {
	got := map[string]bool{}
	for _, p := range [][2]string{{"/a/b", "/a/b"}, {"/a/b", "/a/b/c"}, {"/a/b", "/a/bc"}, {"/a/b", "/a"}, {"/", "/a"}, {"/a", "/"}} {
		got[p[0]+" "+p[1]] = Within(p[0], p[1])
	}
	want := map[string]bool{"/a/b /a/b": true, "/a/b /a/b/c": true, "/a/b /a/bc": false, "/a/b /a": false, "/ /a": true, "/a /": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
