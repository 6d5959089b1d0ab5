package fileop

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func openDir(t *testing.T, path string) *os.File {
	t.Helper()
	d, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestNamesAreSingleElements(t *testing.T) {
	dir := openDir(t, t.TempDir())
	fsys := OS()
	for _, name := range []string{"", ".", "..", "a/b", "../x", "a\x00b"} {
		if _, err := fsys.Create(dir, name, 0o600); !errors.Is(err, ErrName) {
			t.Errorf("Create(%q): %v", name, err)
		}
		for op, err := range map[string]error{
			"Unlink": fsys.Unlink(dir, name),
			"Mkdir":  fsys.Mkdir(dir, name, 0o700),
			"Rmdir":  fsys.Rmdir(dir, name),
			"Rename": fsys.Rename(dir, "a", dir, name, true),
		} {
			if !errors.Is(err, ErrName) {
				t.Errorf("%s(%q): %v", op, name, err)
			}
		}
	}
}

func TestRenameWithoutReplaceKeepsTheTarget(t *testing.T) {
	path := t.TempDir()
	dir := openDir(t, path)
	fsys := OS()
	for name, text := range map[string]string{"old": "1", "new": "2"} {
		f, err := fsys.Create(dir, name, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(fsys.Write(f, []byte(text)), fsys.Sync(f), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := fsys.Rename(dir, "old", dir, "new", false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("rename over an existing file: %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(path, "new")); string(got) != "2" {
		t.Errorf("target now holds %q", got)
	}
	if err := fsys.Rename(dir, "old", dir, "new", true); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(path, "new")); string(got) != "1" {
		t.Errorf("target holds %q after replacing", got)
	}
}

func TestAppendFollowsNoLink(t *testing.T) {
	path := t.TempDir()
	dir := openDir(t, path)
	victim := filepath.Join(path, "victim")
	if err := os.WriteFile(victim, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(path, "log")); err != nil {
		t.Fatal(err)
	}
	if f, err := OS().OpenAppend(dir, "log", 0o600); err == nil {
		f.Close()
		t.Error("a link was followed")
	}
	f, err := OS().OpenAppend(dir, "plain", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(OS().Write(f, []byte("a")), OS().Write(f, []byte("b"))); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(path, "plain")); string(got) != "ab" {
		t.Errorf("appended file holds %q", got)
	}
}
