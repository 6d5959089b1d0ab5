package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/transport"
)

// Conn is the recorded server half of a session. A frame is delivered when everything that was recorded before it has
// happened: delivered, or sent by the client. What a client of the protocol cannot send (probes, answers to nothing, second
// and late answers) and what the server answered to it is left out.
//
// A client's request stands for the earliest recorded one of its method that is still missing, and its id replaces the
// recorded one in the answer. Its parameters are not compared: see Mismatched.
type Conn struct {
	mu         sync.Mutex
	todo       []step
	ids        map[relay.RequestID]json.RawMessage // recorded id of a request → the client's
	handed     int                                 // sends that Due has named
	mismatched []string
	extra      []string
	err        *transport.Error
	changed    chan struct{}
}

type step struct {
	Entry
	done bool
	n    int // order of the sends
}

// Replay prepares a session. Requests of methods for which can is false are left out, too; nil leaves out none.
func Replay(entries []Entry, can func(method string) bool) *Conn {
	c := &Conn{ids: map[relay.RequestID]json.RawMessage{}, changed: make(chan struct{})}
	asked, open := map[relay.RequestID]bool{}, map[relay.RequestID]bool{}
	sends := 0
	for _, e := range entries {
		switch {
		case e.Sent && e.Kind == Probe:
			continue
		case e.Sent && e.Kind == Response:
			if !asked[e.ID] {
				continue
			}
			delete(asked, e.ID)
		case !e.Sent && e.Kind == Request:
			asked[e.ID] = true
		case e.Sent && e.Kind == Request:
			if can != nil && !can(e.Method) {
				continue
			}
			open[e.ID] = true
		case !e.Sent && e.Kind == Response:
			if !open[e.ID] {
				continue
			}
			delete(open, e.ID)
		case !e.Sent && e.Method == "serverRequest/resolved":
			var p struct {
				RequestID relay.RequestID `json:"requestId"`
			}
			if json.Unmarshal(e.Params, &p) == nil {
				delete(asked, p.RequestID) // an answer after this one is late
			}
		}
		s := step{Entry: e}
		if e.Sent {
			s.n = sends
			sends++
		}
		c.todo = append(c.todo, s)
	}
	return c
}

// Due returns the next message that the client must send, as soon as it is its turn; ok is false when none is left or the
// connection has ended.
func (c *Conn) Due(ctx context.Context) (e Entry, ok bool) {
	for {
		c.mu.Lock()
		if c.err != nil {
			c.mu.Unlock()
			return Entry{}, false
		}
		c.skip()
		if len(c.todo) == 0 {
			c.mu.Unlock()
			return Entry{}, false
		}
		if s := c.todo[0]; s.Sent && s.n >= c.handed {
			c.handed = s.n + 1
			c.mu.Unlock()
			return s.Entry, true
		}
		if !slices.ContainsFunc(c.todo, func(s step) bool { return s.Sent && s.n >= c.handed }) {
			c.mu.Unlock()
			return Entry{}, false
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return Entry{}, false
		}
	}
}

// Mismatched returns what the client sent in place of something recorded, with other parameters or another answer.
func (c *Conn) Mismatched() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.mismatched)
}

// Extra returns what the client sent and nobody recorded.
func (c *Conn) Extra() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.extra)
}

// Kind implements transport.Conn.
func (c *Conn) Kind() transport.Kind { return transport.Stdio }

// Read implements transport.Conn. After the last frame the connection is lost.
func (c *Conn) Read(ctx context.Context) ([]byte, error) {
	for {
		c.mu.Lock()
		if c.err != nil {
			defer c.mu.Unlock()
			return nil, c.err
		}
		c.skip()
		if len(c.todo) == 0 {
			defer c.mu.Unlock()
			c.end(transport.Transient, fault.ConnectionLost, "the recorded session is over")
			return nil, c.err
		}
		if s := c.todo[0]; !s.Sent {
			defer c.mu.Unlock()
			c.todo = c.todo[1:]
			c.wake()
			return c.frame(s.Entry)
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			c.mu.Lock()
			c.end(transport.Cancelled, fault.ConnectionClosed, ctx.Err().Error())
			c.mu.Unlock()
		}
	}
}

// frame is the recorded message, an answer with the client's own id.
func (c *Conn) frame(e Entry) ([]byte, error) {
	if e.Kind != Response {
		return e.Raw, nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(e.Raw, &m); err != nil {
		return nil, err
	}
	m["id"] = c.ids[e.ID]
	delete(c.ids, e.ID)
	return json.Marshal(m)
}

// Write implements transport.Conn.
func (c *Conn) Write(ctx context.Context, frame []byte) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false, c.err
	}
	got := read(frame)
	i := slices.IndexFunc(c.todo, func(s step) bool {
		return s.Sent && !s.done && s.Kind == got.Kind && s.Method == got.Method && (got.Kind != Response || s.ID == got.ID)
	})
	if i < 0 {
		c.extra = append(c.extra, string(frame))
		return true, nil
	}
	want := &c.todo[i]
	want.done = true
	if got.Kind == Request {
		id, err := json.Marshal(got.ID)
		if err != nil {
			return true, err
		}
		c.ids[want.ID] = id
	}
	if !same(want.Params, got.Params) || !same(want.Result, got.Result) || (want.Error == nil) != (got.Error == nil) {
		c.mismatched = append(c.mismatched, string(frame)+" for "+string(want.Raw))
	}
	c.wake()
	return true, nil
}

// Close implements transport.Conn.
func (c *Conn) Close(reason transport.Reason) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(transport.Cancelled, fault.ConnectionClosed, string(reason))
	return nil
}

// skip drops what the client has sent already.
func (c *Conn) skip() {
	for len(c.todo) > 0 && c.todo[0].Sent && c.todo[0].done {
		c.todo = c.todo[1:]
	}
}

func (c *Conn) end(class transport.Class, code fault.Code, why string) {
	if c.err == nil {
		c.err = &transport.Error{Class: class, Fault: fault.New(code, fault.Cause(errors.New(why)))}
		c.wake()
	}
}

func (c *Conn) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// same compares JSON by value; absent, null and {} are the same.
func same(a, b json.RawMessage) bool { return string(canonical(a)) == string(canonical(b)) }

func canonical(data json.RawMessage) []byte {
	var v any
	if len(data) == 0 || json.Unmarshal(data, &v) != nil || v == nil {
		return []byte("{}")
	}
	out, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return out
}
