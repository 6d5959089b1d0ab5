package ask

import (
	"testing"

	"sekisho/internal/relay/transport"
	"sekisho/test/goroutines"
)

// TestMain lets the test program be the supervisor of a child, too.
func TestMain(m *testing.M) {
	if transport.SuperviseChild() {
		return
	}
	goroutines.Main(m)
}
