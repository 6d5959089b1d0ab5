package ask

import (
	"testing"

	"go.uber.org/goleak"

	"sekisho/internal/relay/transport"
)

// TestMain lets the test program be the supervisor of a child, too.
func TestMain(m *testing.M) {
	if transport.SuperviseChild() {
		return
	}
	goleak.VerifyTestMain(m)
}
