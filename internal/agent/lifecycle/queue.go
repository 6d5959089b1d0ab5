package lifecycle

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// queueLines is how many writes wait for a reader of standard error before further ones are dropped.
	queueLines = 256
	// queueDrain is how long the end of the server waits for that reader.
	queueDrain = time.Second
)

// queue passes writes on to a writer that may block, without ever blocking itself: many clients never read the server's
// standard error, and a full pipe must not stop the answers. Drops are counted and told.
type queue struct {
	w    io.Writer
	done chan struct{}

	mu      sync.Mutex
	closed  bool
	dropped int
	writes  chan []byte
}

func newQueue(w io.Writer) *queue {
	q := &queue{w: w, done: make(chan struct{}), writes: make(chan []byte, queueLines)}
	go q.run()
	return q
}

func (q *queue) run() {
	defer close(q.done)
	for p := range q.writes {
		q.mu.Lock()
		dropped := q.dropped
		q.dropped = 0
		q.mu.Unlock()
		q.w.Write(p) // a reader that is gone is no reason to stop serving
		if dropped > 0 {
			fmt.Fprintf(q.w, "level=WARN msg=\"standard error was not read in time\" dropped=%d\n", dropped)
		}
	}
}

// Write implements io.Writer and never fails.
func (q *queue) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return len(p), nil
	}
	select {
	case q.writes <- bytes.Clone(p):
	default:
		q.dropped++
	}
	return len(p), nil
}

// Close waits until everything was passed on, at most queueDrain: a writer that still blocks then is left to the end of the
// process.
func (q *queue) Close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.writes)
	}
	q.mu.Unlock()
	select {
	case <-q.done:
	case <-time.After(queueDrain):
	}
}
