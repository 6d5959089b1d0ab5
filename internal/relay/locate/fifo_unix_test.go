//go:build unix

package locate

import (
	"path/filepath"
	"syscall"
	"testing"

	"sekisho/internal/fault"
)

// proves R-CONN-10
func TestAFIFOIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codex")
	if err := syscall.Mkfifo(path, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Path: path}, {PATH: filepath.Dir(path)}} {
		if _, err := Codex(o); fault.CodeOf(err) != fault.CodexUnusable {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
