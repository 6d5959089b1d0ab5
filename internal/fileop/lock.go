package fileop

import (
	"context"
	"os"
	"time"
)

// lockPoll is how often Lock asks again. A blocking lock call could not be abandoned when ctx ends.
const lockPoll = 20 * time.Millisecond

// Lock waits for the exclusive advisory lock on f, which every other open of the same file competes for. The lock ends
// with Unlock or when f is closed, also by the death of the process. Locks are no durable effect, so they are no method
// of FS.
func Lock(ctx context.Context, f *os.File) error {
	for {
		ok, err := TryLock(f)
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}
