package ollama

import (
	"context"
	"time"

	"sekisho/internal/fault"
)

// backoff is the wait before each retry; there are no more retries than entries (A-OLL-06).
var backoff = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second}

// maxRetryAfter is the longest wait that a server may ask for; beyond it the call fails at once.
const maxRetryAfter = 10 * time.Second

// post repeats one exchange as its failures allow and tells every attempt. The same bytes go out each time: only
// failures that another try can cure are repeated.
func (c *Client) post(ctx context.Context, path string, body []byte, parse func([]byte) *failure) ([]AttemptRecord, error) {
	var attempts []AttemptRecord
	for {
		if err := ctx.Err(); err != nil {
			return attempts, c.network(ctx, err).err
		}
		status, f := c.once(ctx, path, body, parse)
		if f == nil {
			return append(attempts, AttemptRecord{Status: status}), nil
		}
		a := AttemptRecord{Status: status, Code: fault.CodeOf(f.err), Cause: short(f.err.Error())}
		retry := len(attempts)
		if !f.retry || retry >= len(backoff) {
			return append(attempts, a), f.err
		}
		if f.after > maxRetryAfter {
			seconds := int64((f.after + time.Second - 1) / time.Second)
			err := c.Fault(fault.OllamaUnavailable, fault.Variant("retry_after"), fault.Arg("seconds", seconds), fault.Cause(f.err))
			return append(attempts, a), err
		}
		wait := max(backoff[retry], f.after)
		a.WaitMS = wait.Milliseconds()
		attempts = append(attempts, a)
		if err := c.wait(ctx, wait); err != nil {
			return attempts, c.network(ctx, err).err
		}
	}
}

// sleep waits for d or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
