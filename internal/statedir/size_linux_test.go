package statedir

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/fileop"
)

// proves A-SBX-08
func TestMeasureCountsWhatIsThere(t *testing.T) {
	d := t.TempDir()
	fill := func(name string, n int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(d, name), make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		t.Helper()
		s, err := Measure(d, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		return s.Bytes
	}
	if got := size(); got != 0 {
		t.Errorf("empty: %d", got)
	}
	fill("one", 1<<20)
	if got := size(); got < 1<<20 || got > 1<<20+8<<10 {
		t.Errorf("1 MiB counts %d", got)
	}
	before := size()
	if err := os.Link(d+"/one", d+"/again"); err != nil {
		t.Fatal(err)
	}
	if got := size(); got != before {
		t.Errorf("a second name of the same file counts %d", got-before)
	}
	before = size()
	for i := range 100 { // a name costs room even when its file has none
		fill(fmt.Sprint("empty", i), 0)
	}
	if got := size() - before; got != 100*entryBytes {
		t.Errorf("100 empty files count %d", got)
	}
	before = size()
	if err := os.Truncate(d+"/empty0", 1<<40); err != nil {
		t.Fatal(err)
	}
	if got := size() - before; got != 0 {
		t.Errorf("a hole of 1 TiB counts %d", got)
	}
	if err := os.Symlink("/usr", d+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(d+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	if got := size() - before; got > 4*entryBytes {
		t.Errorf("a link and a FIFO count %d", got)
	}
	if s, err := Measure(d, 5*entryBytes); err != nil || !s.Over(5*entryBytes) || s.Entries > 110 {
		t.Errorf("a limit: %+v, %v", s, err)
	}
	if _, err := Measure(d+"/none", 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
}

// chain makes a chain of n directories below dir.
func chain(t *testing.T, dir string, n int) { unix.Close(nest(t, dir, "d", n)) }

// nest makes directories of one name in each other, n of them below dir, and opens the innermost.
func nest(t *testing.T, dir, name string, n int) int {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := unix.Mkdirat(fd, name, 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, name, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		if err != nil {
			t.Fatal(err)
		}
		fd = next
	}
	return fd
}

// proves A-SBX-08
func TestATreeThatIsTooDeepIsOverItsCap(t *testing.T) {
	d := t.TempDir()
	chain(t, d, maxDepth)
	if s, err := Measure(d, 1<<40); err != nil || s.TooDeep || s.Entries != maxDepth {
		t.Errorf("%d levels: %+v, %v", maxDepth, s, err)
	}
	d = t.TempDir()
	chain(t, d, maxDepth+1)
	if s, err := Measure(d, 1<<40); err != nil || !s.Over(1<<40) {
		t.Errorf("%d levels: %+v, %v", maxDepth+1, s, err)
	}
	d = t.TempDir()
	chain(t, d, 4000)
	defer removeTree(fileop.OS(), openAt(t, filepath.Dir(d)), filepath.Base(d)) // os.RemoveAll of the test would need minutes
	if s, err := Measure(d, 1<<40); err != nil || !s.TooDeep || s.Entries > maxDepth+1 {
		t.Errorf("4000 levels: %+v, %v", s, err)
	}
}

func openAt(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A task that takes its own rights on HOME hides nothing from its measure, and the next task has them again.
//
// proves A-SBX-08
func TestAClosedHomeIsOpenedForTheNextTask(t *testing.T) {
	if os.Geteuid() == 0 {
		asOrdinaryUser(t)
		return
	}
	cache := filepath.Join(t.TempDir(), "cache", "agent-mcp")
	homes, err := OpenHomes(fileop.OS(), cache)
	if err != nil {
		t.Fatal(err)
	}
	defer homes.Close()
	for _, mode := range []os.FileMode{0, 0o100, 0o200, 0o300, 0o400, 0o500, 0o600} {
		home, err := homes.Open(t.Context(), "name")
		if err != nil {
			t.Fatalf("before %o: %v", mode, err)
		}
		if err := os.WriteFile(home.Path()+"/f", make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(home.Path(), mode); err != nil {
			t.Fatal(err)
		}
		if s, err := HomeSize(cache, "name"); err != nil || s.Bytes < 1<<20 {
			t.Errorf("%o: measured %+v, %v", mode, s, err)
		}
		st, err := os.Stat(home.Path())
		if err != nil || st.Mode().Perm() != mode {
			t.Errorf("%o: the mode is %v, %v", mode, st.Mode(), err)
		}
		if err := home.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := homes.Open(t.Context(), "name"); err != nil {
		t.Error(err)
	}
}

// asOrdinaryUser runs the calling test again without root's rights.
func asOrdinaryUser(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(dir+"/test", program, 0o755), os.Mkdir(dir+"/tmp", 0o755), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755),
			os.Chown(dir+"/tmp", 65533, 65533))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(dir+"/test", "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir + "/tmp", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}

// proves A-SBX-08
func TestHomesAreKeptLockedAndEmptied(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache", "agent-mcp")
	homes, err := OpenHomes(fileop.OS(), cache)
	if err != nil {
		t.Fatal(err)
	}
	defer homes.Close()
	name := HomeName("/home/me/über project", "identity")
	if s, err := HomeSize(cache, name); err != nil || s != (Size{}) {
		t.Errorf("before: %+v, %v", s, err)
	}
	home, err := homes.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{cache, cache + "/home", HomePath(cache, name), home.Path()} {
		if st, err := os.Stat(dir); err != nil || st.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: %v, %v", dir, st, err)
		}
	}
	other, err := OpenHomes(fileop.OS(), cache)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	got := make(chan *Home)
	go func() {
		h, err := other.Open(t.Context(), name)
		if err != nil {
			t.Error(err)
		}
		got <- h
	}()
	if another, err := other.Open(t.Context(), HomeName("/home/me/über project", "another")); err != nil {
		t.Errorf("the home of another workspace: %v", err)
	} else {
		another.Close()
	}
	select {
	case <-got:
		t.Fatal("two tasks have one home")
	default:
	}
	if err := os.WriteFile(home.Path()+"/cache", make([]byte, 1<<20), 0o400); err != nil {
		t.Fatal(err)
	}
	chain(t, home.Path(), 2000)
	before, err := os.Stat(home.Path())
	if err != nil {
		t.Fatal(err)
	}
	if s, err := HomeSize(cache, name); err != nil || s.Bytes < 1<<20 {
		t.Errorf("filled: %+v, %v", s, err)
	}
	if err := home.Empty(); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(home.Path())
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the emptied home is another object: %v", err)
	}
	if s, err := HomeSize(cache, name); err != nil || s != (Size{}) {
		t.Errorf("emptied: %+v, %v", s, err)
	}
	// Cleared by hand while somebody waits: who waits gets a new one.
	if err := os.RemoveAll(HomePath(cache, name)); err != nil {
		t.Fatal(err)
	}
	if err := home.Close(); err != nil {
		t.Fatal(err)
	}
	second := <-got
	if _, err := os.Stat(second.Path()); err != nil {
		t.Error(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// proves A-SBX-08
func TestNamesOfHomes(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range [][2]string{{"/a/project", "1"}, {"/a/project", "2"}, {"/b/project", "3"}, {"/", "4"}, {"/a/..hidden", "5"}, {"/a/" + strings.Repeat("x", 300), "6"}} {
		name := HomeName(c[0], c[1])
		if seen[name] || fileop.CheckName(name) != nil || len(name) > 60 || name[0] == '.' {
			t.Errorf("%q: %q", c, name)
		}
		seen[name] = true
	}
	if again := HomeName("/a/project", "1"); !seen[again] {
		t.Error("the name of one workspace changes")
	}
}
