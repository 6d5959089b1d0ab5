package lifecycle

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"sekisho/internal/fault"
)

// proves A-LOG-01
func TestLogLinesHoldNothingEmptyAndNothingTwice(t *testing.T) {
	var b strings.Builder
	log := slog.New(tidy{slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})})
	failed := fault.New(fault.StateUnusable, fault.Target("/x"))
	log.With("session_id", "", "instance", "1").Warn("a", "session_id", "", "code", failed.Code, "error", failed)
	log.Warn("b", "code", fault.AgentCancelled, "error", errors.New("other"))
	log.Warn("c", "code", fault.Code(""), "error", error(nil), "n", 0)
	want := `level=WARN msg=a instance=1 error="state.unusable: /x"
level=WARN msg=b code=agent.cancelled error=other
level=WARN msg=c n=0
`
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
