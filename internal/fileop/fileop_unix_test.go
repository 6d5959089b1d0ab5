//go:build unix

package fileop

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFIFOUnderOurNameIsRefusedAtOnce(t *testing.T) {
	path := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(path, "log"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := OS().OpenAppend(openDir(t, path), "log", 0o600); err == nil {
		f.Close()
		t.Error("a FIFO was opened as a log")
	}
}
