//go:build unix

package atomicfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// proves R-CON-06, A-TX-01
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{syscall.Mkfifo(at("fifo"), 0o600), os.WriteFile(at("file"), []byte("x"), 0o600), os.Symlink(at("file"), at("link")),
		os.Symlink("/dev/zero", at("zero")), os.Mkdir(at("dir"), 0o700), os.Symlink(at("fifo"), at("fifo link"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"file": true, "fifo": false, "link": false, "zero": false, "dir": false, "none": false, "fifo link": false} {
		done := make(chan error, 1)
		go func() {
			_, err := Read(at(name), 10)
			done <- err
		}()
		select {
		case err := <-done:
			if (err == nil) != want {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s: Read waits", name)
			if f, err := os.OpenFile(at(name), os.O_WRONLY, 0); err == nil {
				f.Close()
			}
			<-done
		}
	}
}

// A file that a person keeps elsewhere may be a link; a FIFO is refused at once.
func TestOpenFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	for _, err := range []error{os.WriteFile(file, []byte("x"), 0o600), os.Symlink(file, link), syscall.Mkfifo(fifo, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(link)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := Open(fifo); err == nil {
		t.Error("a FIFO was opened")
	}
}
