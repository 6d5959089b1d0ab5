package transport

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test program be the supervisor, a worker that is killed, and a child.
func TestMain(m *testing.M) {
	if SuperviseChild() || playPart() {
		return
	}
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		os.Stderr.WriteString("goroutines are left: " + err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}
