//go:build linux

package cgroup

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A list of processes is read to its end, however long it is.
//
// proves A-SBX-02
func TestFilesOfEveryLengthAreReadWhole(t *testing.T) {
	path := t.TempDir()
	dir, err := openDir(unix.AT_FDCWD, path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, n := range []int{0, 1, 511, 512, 513, 5000, 100_000} {
		want := strings.Repeat("x", n)
		if err := os.WriteFile(path+"/file", []byte(want+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := read(dir, "file"); err != nil || got != want {
			t.Errorf("%d bytes: got %d, %v", n, len(got), err)
		}
	}
	if got, err := read(dir, "none"); err == nil {
		t.Errorf("a missing file: got %q", got)
	}
}

// What was mounted since the last look counts.
//
// proves A-SBX-02
func TestAnotherListOfMountsIsReadAnew(t *testing.T) {
	line := func(point string) string {
		return "30 25 0:26 / " + point + " rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
	}
	var p mountsOf
	for _, point := range []string{"/one", "/one", "/two", "/one"} {
		if got := p.of(line(point)); len(got) != 1 || got[0].point != point {
			t.Errorf("%s: got %+v", point, got)
		}
	}
	if got := p.of(""); len(got) != 0 {
		t.Errorf("nothing mounted: got %+v", got)
	}
}
