// Package requestlog writes one line for each HTTP request (A-MCP-09) without ever making a request wait: a bounded queue
// feeds one writer, and what the queue has no room for is counted and told.
//
// A line holds numbers and words of closed sets only. Paths, queries, header values and bodies never come here, so that no
// payload, credential or session can.
package requestlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"sekisho/internal/agent/mcpserver/httpd"
	"sekisho/internal/strictjson"
)

const (
	// queued is how many records wait for the writer before further ones are dropped.
	queued = 1024
	// batch is how many records make one write at most.
	batch = 256
	// gather is how long a record may wait for others to be written with. Each write takes a lock and several system calls, for
	// each file; a request by itself would pay more for its line than for its answer.
	gather = 50 * time.Millisecond
)

// line is one line of http.jsonl.
type line struct {
	Time       time.Time `json:"ts"`
	Event      string    `json:"event"` // request, or dropped
	Verb       string    `json:"http_method,omitempty"`
	Endpoint   string    `json:"endpoint,omitempty"`
	Status     int       `json:"status,omitempty"`
	Micros     int64     `json:"duration_us,omitempty"`
	In         int64     `json:"bytes_in,omitempty"`
	Out        int64     `json:"bytes_out,omitempty"`
	Protocol   string    `json:"mcp_protocol_version,omitempty"`
	Method     string    `json:"mcp_method,omitempty"`
	Tool       string    `json:"mcp_tool,omitempty"`
	Reason     string    `json:"refused,omitempty"`
	DroppedNum int       `json:"count,omitempty"`
}

// Sinks are where the log goes. Each Write is one or several whole lines.
type Sinks struct {
	Lines io.Writer                    // http.jsonl
	Text  io.Writer                    // application log and standard error
	Form  func(io.Writer) *slog.Logger // makes the lines for Text, and drops them if the configured level does not want them
	Log   *slog.Logger                 // for what is wrong with the log itself
}

// Log is an open request log. Its methods are safe for concurrent use.
type Log struct {
	sinks Sinks
	done  chan struct{} // closed when the writer has ended

	mu      sync.Mutex
	closed  bool
	dropped int
	records chan httpd.Record

	// The writer's own: the lines of a batch, and whether the last write failed.
	text    bytes.Buffer
	form    *slog.Logger
	failing bool
}

// New starts the writer. Close ends it.
func New(s Sinks) *Log {
	l := &Log{sinks: s, done: make(chan struct{}), records: make(chan httpd.Record, queued)}
	l.form = s.Form(&l.text)
	go l.run()
	return l
}

// Add queues a record. It never waits: without room the record is dropped and counted.
func (l *Log) Add(r httpd.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.records <- r:
	default:
		l.dropped++
	}
}

// Close writes what is queued and ends the writer, or leaves it behind when ctx ends before.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.records)
	}
	l.mu.Unlock()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("flushing the HTTP request log: %w", ctx.Err())
	}
}

func (l *Log) run() {
	defer close(l.done)
	pending := make([]httpd.Record, 0, batch)
	for r := range l.records {
		pending = append(pending[:0], r)
		enough := time.NewTimer(gather)
	more:
		for len(pending) < batch {
			select {
			case r, ok := <-l.records:
				if !ok {
					break more
				}
				pending = append(pending, r)
			case <-enough.C:
				break more
			}
		}
		enough.Stop()
		l.write(pending)
	}
}

// write writes records and, before them, how many were dropped meanwhile.
func (l *Log) write(records []httpd.Record) {
	l.mu.Lock()
	dropped := l.dropped
	l.dropped = 0
	l.mu.Unlock()
	var out []byte
	if dropped > 0 {
		l.sinks.Log.Warn("HTTP requests are missing in the request log: its writer was too slow", "dropped", dropped)
		out = appendLine(out, line{Time: time.Now(), Event: "dropped", DroppedNum: dropped})
	}
	for _, r := range records {
		out = appendLine(out, line{Time: r.Time, Event: "request", Verb: r.Verb, Endpoint: r.Endpoint, Status: r.Status, Micros: r.Duration.Microseconds(),
			In: r.In, Out: r.Out, Protocol: r.Protocol, Method: r.Method, Tool: r.Tool, Reason: r.Reason})
		l.form.Info("HTTP request", "http_method", r.Verb, "endpoint", r.Endpoint, "status", r.Status, "duration", r.Duration,
			"mcp_method", r.Method, "mcp_tool", r.Tool, "refused", r.Reason)
	}
	_, err := l.sinks.Lines.Write(out)
	if l.text.Len() > 0 {
		_, textErr := l.sinks.Text.Write(l.text.Bytes())
		err = errors.Join(err, textErr)
		l.text.Reset()
	}
	if err != nil && !l.failing { // once, not for each request
		l.sinks.Log.Error("the HTTP request log cannot be written", "error", err)
	}
	l.failing = err != nil
}

func appendLine(out []byte, v line) []byte {
	data, err := strictjson.Marshal(v)
	if err != nil { // cannot happen: times of this century, numbers and words
		panic(err)
	}
	return append(append(out, data...), '\n')
}
