//go:build unix

package profile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sekisho/internal/fault"
)

// proves R-CLI-01
func TestTheFileIsRegularAndMayBeALink(t *testing.T) {
	dir := t.TempDir()
	fifo, file, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "file"), filepath.Join(dir, "link")
	for _, err := range []error{syscall.Mkfifo(fifo, 0o600), os.WriteFile(file, []byte("profiles: {x: {}}\n"), 0o600), os.Symlink(file, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Load(fifo, "/cwd"); fault.CodeOf(err) != fault.ProfileInvalid {
		t.Errorf("a FIFO: %v", err)
	}
	if _, _, err := Load(link, "/cwd"); err != nil {
		t.Errorf("a link: %v", err)
	}
}

// owned is a file's description with another owner.
type owned struct {
	os.FileInfo
	uid uint32
}

func (o owned) Sys() any {
	st := *o.FileInfo.Sys().(*syscall.Stat_t)
	st.Uid = o.uid
	return &st
}

// proves R-CLI-01
func TestTheFileIsThisUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := userOnly(info); err != nil {
		t.Errorf("ours: %v", err)
	}
	if err := userOnly(owned{info, uint32(os.Geteuid()) + 1}); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("another user's: %v", err)
	}
}
