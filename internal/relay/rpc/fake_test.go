package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/transport"
)

// wire is a Conn whose other end is the test. Frames that were given before the end are read before the end.
type wire struct {
	mu     sync.Mutex
	cond   *sync.Cond
	in     [][]byte
	end    error
	closed bool
	sent   [][]byte
	// onWrite, if set, decides about a write without the lock: started and error. Nil takes the frame.
	onWrite func(frame []byte) (bool, error)
}

func newWire() *wire {
	w := &wire{}
	w.cond = sync.NewCond(&w.mu)
	return w
}

func lostErr() error {
	return &transport.Error{Class: transport.Transient, Fault: fault.New(fault.ConnectionLost, fault.Cause(io.EOF))}
}

func closedErr() error {
	return &transport.Error{Class: transport.Cancelled, Fault: fault.New(fault.ConnectionClosed)}
}

func (w *wire) Read(context.Context) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.in) == 0 && w.end == nil {
		w.cond.Wait()
	}
	if len(w.in) > 0 {
		f := w.in[0]
		w.in = w.in[1:]
		return f, nil
	}
	return nil, w.end
}

func (w *wire) Write(ctx context.Context, frame []byte) (bool, error) {
	if ctx.Err() != nil {
		return false, closedErr()
	}
	if w.onWrite != nil {
		if started, err := w.onWrite(frame); err != nil {
			return started, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != nil {
		return false, w.end
	}
	w.sent = append(w.sent, append([]byte(nil), frame...))
	w.cond.Broadcast()
	return true, nil
}

func (w *wire) Close(transport.Reason) error {
	w.finish(closedErr())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return nil
}

func (w *wire) Kind() transport.Kind { return transport.Stdio }

func (w *wire) finish(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end == nil {
		w.end = err
	}
	w.cond.Broadcast()
}

// say gives frames to the client.
func (w *wire) say(frames ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range frames {
		w.in = append(w.in, []byte(f))
	}
	w.cond.Broadcast()
}

// hear waits for n frames in all and returns them.
func (w *wire) hear(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.sent) < n {
		w.cond.Wait()
	}
	return w.all()
}

// hearText waits until a frame holds text.
func (w *wire) hearText(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !strings.Contains(strings.Join(w.all(), "\n"), text) {
		w.cond.Wait()
	}
}

func (w *wire) frames() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all()
}

func (w *wire) all() []string {
	var s []string
	for _, f := range w.sent {
		s = append(s, string(f))
	}
	return s
}

// record is a Handler that writes down what it is told.
type record struct {
	mu       sync.Mutex
	lines    []string
	notes    []codex.Notification
	requests []Request
	lost     Lost
	stall    chan struct{} // if set, the first notification waits for it
	ended    chan struct{}
	onNote   func(codex.Notification)
}

func newRecord() *record { return &record{ended: make(chan struct{})} }

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *record) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines...)
}

func (r *record) Notification(_ relay.Generation, n codex.Notification) {
	if r.stall != nil {
		<-r.stall
	}
	if r.onNote != nil {
		r.onNote(n)
	}
	r.mu.Lock()
	r.notes = append(r.notes, n)
	r.mu.Unlock()
	r.add("note %s", n.Method())
}

func (r *record) Request(q Request) {
	r.mu.Lock()
	r.requests = append(r.requests, q)
	r.mu.Unlock()
	r.add("request %s %s", q.Key.Request, q.Body.Method())
}

func (r *record) Retired(k relay.Key, why Retirement) { r.add("retired %s %s", k.Request, why) }
func (r *record) Refused(_ relay.Generation, m string, code int) {
	r.add("refused %s %d", m, code)
}

func (r *record) SyncLost(_ relay.Generation, l Lost) {
	r.mu.Lock()
	r.lost.Dropped += l.Dropped
	r.lost.Malformed += l.Malformed
	r.mu.Unlock()
	r.add("lost")
}

func (r *record) Ended(relay.Generation, error) {
	r.add("ended")
	close(r.ended)
}

func start(t testing.TB, w *wire, r *record) *Client {
	t.Helper()
	c := New(w, Options{Generation: 7, Version: codex.Target, Handler: r, Jitter: func() float64 { return 0.5 }})
	t.Cleanup(func() {
		if r.stall != nil {
			select {
			case <-r.stall:
			default:
				close(r.stall)
			}
		}
		c.Close(transport.ShuttingDown)
		c.Wait()
	})
	return c
}

// stalled is a client whose front end takes one notification and nothing from then on. It belongs into a bubble.
func stalled(t testing.TB) (*wire, *record, *Client) {
	t.Helper()
	w, r := newWire(), newRecord()
	r.stall = make(chan struct{})
	c := start(t, w, r)
	w.say(`{"method":"thread/closed","params":{"threadId":"t"}}`)
	synctest.Wait()
	return w, r, c
}

func ids(t testing.TB, frame string) string {
	t.Helper()
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal([]byte(frame), &m); err != nil {
		t.Fatal(err)
	}
	return string(m.ID)
}

const approval = `{"id":%s,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","turnId":"u","itemId":"i","startedAtMs":1,"command":"ls","cwd":"/"}}`

func context5s(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	t.Cleanup(cancel)
	return ctx
}
