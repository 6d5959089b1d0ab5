package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"sekisho/internal/fileop"
)

var errStop = errors.New("stopped")

// failing fails the k-th durable call and every later one, as a full disk would.
type failing struct {
	fileop.FS
	left int
}

func (f *failing) stop() error {
	if f.left--; f.left < 0 {
		return errStop
	}
	return nil
}

func (f *failing) Create(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	if err := f.stop(); err != nil {
		return nil, err
	}
	return f.FS.Create(dir, name, perm)
}

func (f *failing) Write(file *os.File, p []byte) error {
	if err := f.stop(); err != nil {
		return errors.Join(f.FS.Write(file, p[:len(p)/2]), err)
	}
	return f.FS.Write(file, p)
}

func (f *failing) Sync(file *os.File) error {
	if err := f.stop(); err != nil {
		return err
	}
	return f.FS.Sync(file)
}

func (f *failing) Rename(a *os.File, b string, c *os.File, d string, replace bool) error {
	if err := f.stop(); err != nil {
		return err
	}
	return f.FS.Rename(a, b, c, d, replace)
}

// proves A-TX-01
func TestWriteIsOldOrNewAtEveryStop(t *testing.T) {
	for k := range 6 {
		path := t.TempDir()
		dir, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		if err := Write(fileop.OS(), dir, "file", []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		err = Write(&failing{fileop.OS(), k}, dir, "file", []byte("new and longer"), 0o600)
		got, readErr := os.ReadFile(filepath.Join(path, "file"))
		if readErr != nil {
			t.Fatal(readErr)
		}
		switch want := map[bool]string{true: "old", false: "new and longer"}[k < 4]; {
		case k < 5 && !errors.Is(err, errStop):
			t.Errorf("stop %d: error %v", k, err)
		case k == 5 && err != nil:
			t.Errorf("without a stop: %v", err)
		case string(got) != want:
			t.Errorf("stop %d: file holds %q, want %q", k, got, want)
		}
		if err := Sweep(fileop.OS(), dir); err != nil {
			t.Fatal(err)
		}
		if names, _ := os.ReadDir(path); len(names) != 1 {
			t.Errorf("stop %d: %d names left", k, len(names))
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path, 5); err != nil || string(got) != "12345" {
		t.Errorf("at the limit: %q, %v", got, err)
	}
	if _, err := Read(path, 4); err == nil {
		t.Error("over the limit: no error")
	}
}
