package lifecycle

import (
	"context"
	"errors"
	"strconv"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/guard"
	"sekisho/internal/visible"
)

// examineTime bounds the look at the writable roots that apply and a start take for the person's sake: each task looks for
// itself.
const examineTime = 5 * time.Second

// examine says what a task would meet in the writable roots: files of other owners, which the sandbox shows as nobody's, or
// a refusal (A-POL-10, A-POL-14), and what a sandbox would guard, nil when that is not known. Nothing of it keeps a
// configuration from being applied or a server from starting.
func (s *session) examine(ctx context.Context, p *sandbox.EffectivePolicy) (lines []string, found *guard.Findings) {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	c := s.loaded.Locale
	found, err := guard.Survey(ctx, p)
	if err == nil {
		err = found.Close()
	}
	if err != nil {
		found = nil
	}
	switch e := fault.As(err); {
	case err == nil && found.Foreign.Count > 0:
		lines = []string{c.Text("examine.foreign", map[string]string{"count": strconv.Itoa(found.Foreign.Count), "path": visible.Escape(found.Foreign.First)})}
	case errors.Is(err, context.DeadlineExceeded):
		lines = []string{c.Text("examine.unfinished", nil)}
	case e != nil:
		sentence, remedy := c.Error(e)
		lines = []string{c.Join(c.Text("examine.refused", nil), sentence, remedy)}
	}
	return lines, found
}
