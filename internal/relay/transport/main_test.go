package transport

import (
	"os"
	"testing"

	"sekisho/test/goroutines"
)

// playPart lets the test program be a worker that is killed, or a child, where children can be started.
var playPart = func() bool { return false }

// TestMain lets the test program be the supervisor, too.
func TestMain(m *testing.M) {
	if SuperviseChild() || playPart() {
		return
	}
	code := m.Run()
	if err := goroutines.Left(); code == 0 && err != nil {
		os.Stderr.WriteString("goroutines are left: " + err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}
