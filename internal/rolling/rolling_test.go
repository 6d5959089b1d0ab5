package rolling

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fileop"
	"sekisho/test/crashfs"
)

// TestMain lets the test binary be one of several writer processes.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ROLLING_WRITER_DIR"); dir != "" {
		writeMany(dir, os.Getenv("ROLLING_WRITER_ID"))
		return
	}
	os.Exit(m.Run())
}

func writeMany(path, id string) {
	dir, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	w, err := Open(fileop.OS(), dir, "log", 2000, 1000)
	if err != nil {
		panic(err)
	}
	for i := range 300 {
		if _, err := fmt.Fprintf(w, "%s-%d %s\n", id, i, strings.Repeat("x", i%90)); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
}

func openDir(t *testing.T, path string) *os.File {
	t.Helper()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func contents(t *testing.T, path string) map[string]string {
	t.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(path, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(e.Name(), ".") {
			got[e.Name()] = string(data)
		}
	}
	return got
}

// proves A-LOG-01
func TestRotationKeepsTheNewestFiles(t *testing.T) {
	path := t.TempDir()
	w, err := Open(fileop.OS(), openDir(t, path), "log", 8, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []string{"a1\n", "a2\n", "b1b1b1b1b1\n", "c1\n", "c2\n", "d1d1d1\n"} {
		if n, err := w.Write([]byte(l)); err != nil || n != len(l) {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x\n")); err == nil {
		t.Error("a closed writer accepted a line")
	}
	want := map[string]string{"log": "d1d1d1\n", "log.1": "c1\nc2\n", "log.2": "b1b1b1b1b1\n"}
	if diff := cmp.Diff(want, contents(t, path)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if st, err := os.Stat(filepath.Join(path, "log")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", st.Mode(), err)
	}
}

// proves A-LOG-01
func TestSeveralProcessesLoseNoLine(t *testing.T) {
	path := t.TempDir()
	var wg sync.WaitGroup
	for id := range 4 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "ROLLING_WRITER_DIR="+path, fmt.Sprintf("ROLLING_WRITER_ID=%d", id))
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("writer: %v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for name, text := range contents(t, path) {
		if len(text) > 2000 {
			t.Errorf("%s holds %d bytes, limit 2000", name, len(text))
		}
		for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
			key, filler, ok := strings.Cut(s.Text(), " ")
			if !ok || strings.Trim(filler, "x") != "" {
				t.Errorf("torn line %q", s.Text())
			}
			seen[key]++
		}
	}
	if len(seen) != 1200 {
		t.Errorf("%d different lines, want 1200", len(seen))
	}
	for k, n := range seen {
		if n != 1 {
			t.Errorf("line %s appears %d times", k, n)
		}
	}
}

// proves A-LOG-01, A-TX-04
func TestAStopInsideRotationLosesNothingButTheOldest(t *testing.T) {
	for k := 1; ; k++ {
		path := t.TempDir()
		dir := openDir(t, path)
		write := func(fsys fileop.FS, lines ...string) error {
			w, err := Open(fsys, dir, "log", 3, 3)
			if err != nil {
				return err
			}
			for _, l := range lines {
				if _, err := w.Write([]byte(l)); err != nil {
					return err
				}
			}
			return nil
		}
		if err := write(fileop.OS(), "a\n", "b\n", "c\n", "d\n"); err != nil {
			t.Fatal(err)
		}
		fsys := crashfs.New(fileop.OS(), k, nil)
		err := write(fsys, "e\n")
		if !fsys.Stopped() {
			if err != nil || k < 6 {
				t.Fatalf("k=%d: undisturbed write: %v", k, err)
			}
			return
		}
		if !errors.Is(err, crashfs.ErrStopped) {
			t.Errorf("k=%d: error %v, want the stop", k, err)
		}
		if err := write(fileop.OS(), "f\n"); err != nil {
			t.Fatalf("k=%d: after the stop: %v", k, err)
		}
		var got []string
		for _, text := range contents(t, path) {
			got = append(got, strings.TrimSpace(text))
		}
		for _, want := range []string{"c", "d", "f"} {
			if !slices.Contains(got, want) {
				t.Errorf("k=%d: files hold %v; %s is lost", k, got, want)
			}
		}
	}
}
