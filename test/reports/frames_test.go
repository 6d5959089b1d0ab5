package reports

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/relay/worker"
	"sekisho/internal/strictjson"
	"sekisho/test/fakes/appserver"
	"sekisho/test/fakes/transcript"
	"sekisho/test/headless"
)

// A thousand malformed messages and requests of every sort, then a turn as if nothing had been.
//
// report 06
// proves R-CON-05, R-CONN-09
func TestReport06AThousandMalformedMessages(t *testing.T) {
	d := start(t, appserver.Scripts(ready(), appserver.StartThread("t"), appserver.Malformed(1000), appserver.UnknownRequests(), of.TextTurn("m", "still here")))
	d.Thread()
	d.Send("t", "hello")
	d.Turn("t", "u", "completed")
	d.look(func(v *headless.View) {
		if v.Connection.State != uicontract.Connected || len(v.Cards) != 0 || strings.Join(v.Texts("t", "agentMessage"), "") != "still here" {
			t.Errorf("%+v, %d cards, %q", v.Connection, len(v.Cards), v.Texts("t", "agentMessage"))
		}
	})
}

var frames = flag.Int("frames", 50_000, "frames of TestReport06Storm; make fuzz-frames takes a million")

// A storm of frames, most of them recorded ones with something changed: the reader takes every one, a turn works
// afterwards, and nothing is left running (TestMain).
//
// report 06
// proves R-CON-05, R-PRI-01, R-CONN-09
func TestReport06Storm(t *testing.T) {
	c := &storm{begin: make(chan struct{}), in: make(chan []byte), over: make(chan struct{}), passed: make(chan int, 1)}
	server := appserver.Start(t, appserver.Scripts(ready(), readable(appserver.Thread("t"), nil), appserver.StartThread("t"), appserver.Script{appserver.Hold("storm")}, of.TextTurn("m", "still here")))
	d := startOn(t, server, setup{connector: func(context.Context, profile.Profile, *slog.Logger) (worker.Link, error) {
		c.Pipe = server.Pipe()
		c.start(recorded(t), *frames)
		return worker.Link{Conn: c}, nil
	}})
	d.Thread()
	close(c.begin)
	passed := <-c.passed
	server.Release("storm")
	d.Send("t", "hello")
	d.Turn("t", "u", "completed")
	d.Wait("the answer", func(v *headless.View) bool {
		return v.Connection.State == uicontract.Connected && v.Connection.Generation == 1 && strings.Join(v.Texts("t", "agentMessage"), "") == "still here"
	})
	if passed*2 < *frames {
		t.Errorf("only %d of %d frames pass the JSON layer", passed, *frames)
	}
	d.worker.Close()
	c.done.Wait()
	d.look(func(v *headless.View) {
		t.Logf("%d frames, %d of them JSON; %d replies, %d states of cards, %d events", *frames, passed, c.replies, len(v.Seen), len(v.Log))
	})
}

// storm is a connection that brings frames of its own beside those of the server, and keeps the answers to its requests
// from it.
type storm struct {
	*appserver.Pipe
	begin   chan struct{}
	in      chan []byte
	over    chan struct{}
	passed  chan int
	done    sync.WaitGroup
	mu      sync.Mutex
	err     error
	replies int
}

func (c *storm) start(recorded []map[string]any, n int) {
	c.done.Go(func() {
		defer close(c.over)
		for {
			frame, err := c.Pipe.Read(context.Background())
			if err != nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.err = err
				return
			}
			c.in <- frame
		}
	})
	c.done.Go(func() {
		m := mutator{rand.New(rand.NewPCG(6, 1)), recorded}
		passed := 0
		select {
		case <-c.begin:
		case <-c.over:
			return
		}
		for range n {
			frame := m.frame()
			var v any
			if strictjson.UnmarshalOpen(frame, codex.MaxMessage, &v) == nil {
				passed++
			}
			select {
			case c.in <- frame:
			case <-c.over:
			}
		}
		c.passed <- passed
	})
}

// Read implements transport.Conn.
func (c *storm) Read(context.Context) ([]byte, error) {
	select {
	case frame := <-c.in:
		return frame, nil
	case <-c.over:
		c.mu.Lock()
		defer c.mu.Unlock()
		return nil, c.err
	}
}

// Write implements transport.Conn.
func (c *storm) Write(ctx context.Context, frame []byte) (bool, error) {
	if !bytes.HasPrefix(frame, []byte(`{"method":`)) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.replies++
		return true, nil
	}
	return c.Pipe.Write(ctx, frame)
}

var _ transport.Conn = (*storm)(nil)

// recorded are the messages of the real server, taken apart.
func recorded(t *testing.T) []map[string]any {
	t.Helper()
	names, err := transcript.Names()
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for _, name := range names {
		entries, err := transcript.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if v := map[string]any{}; !e.Sent && len(e.Raw) < 4000 {
				decode(t, e.Raw, &v)
				all = append(all, v)
			}
		}
	}
	return all
}

type mutator struct {
	*rand.Rand
	recorded []map[string]any
}

// frame is a recorded message with one to three changes; one in eight is damaged as text besides.
func (m mutator) frame() []byte {
	v := m.copied(m.recorded[m.IntN(len(m.recorded))]).(map[string]any)
	for range 1 + m.IntN(3) {
		m.change(v)
	}
	if _, asks := v["method"]; !asks {
		v["id"] = 1<<40 + m.IntN(1000) // never the answer to a call of ours: that would be one
	}
	frame, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	if m.IntN(8) > 0 {
		return frame
	}
	at := m.IntN(len(frame))
	switch m.IntN(4) {
	case 0:
		frame = frame[:at]
	case 1:
		frame[at] = byte(m.IntN(256))
	case 2:
		frame = append(frame, frame[at:]...)
	default:
		frame = append(bytes.Repeat([]byte("["), m.IntN(5000)), frame...)
	}
	return bytes.ReplaceAll(frame, []byte("\n"), []byte(" "))
}

func (m mutator) copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, inner := range v {
			c[k] = m.copied(inner)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, inner := range v {
			c[i] = m.copied(inner)
		}
		return c
	}
	return v
}

// change changes one thing somewhere in v.
func (m mutator) change(v map[string]any) {
	other := m.recorded[m.IntN(len(m.recorded))]
	switch m.IntN(8) {
	case 0:
		if method, ok := other["method"]; ok {
			v["method"] = method
		}
		return
	case 1:
		v["id"] = m.value()
		return
	case 2:
		v["params"] = m.copied(other["params"])
		return
	}
	for o := v; ; {
		name := m.pick(o)
		if name == "" {
			return
		}
		switch inner := o[name].(type) {
		case map[string]any:
			if m.IntN(4) > 0 && len(inner) > 0 {
				o = inner
				continue
			}
		case []any:
			if len(inner) > 0 {
				if deeper, ok := inner[m.IntN(len(inner))].(map[string]any); ok && m.IntN(4) > 0 {
					o = deeper
					continue
				}
				o[name] = append(inner, inner[m.IntN(len(inner))], m.value())
				return
			}
		}
		switch m.IntN(3) {
		case 0:
			delete(o, name)
		case 1:
			o[name+"X"] = o[name]
			delete(o, name)
		default:
			o[name] = m.value()
		}
		return
	}
}

func (m mutator) pick(o map[string]any) string {
	if len(o) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(o)) // the storm is the same each time
	return names[m.IntN(len(names))]
}

func (m mutator) value() any {
	values := []any{nil, 0, -1, 1e99, int64(9007199254740993), "", "x", "\u202e\x1b]0;t\a", true, []any{}, []any{nil}, map[string]any{}, map[string]any{"type": "x"}, "0", 7, 1.5}
	if i := m.IntN(len(values) + 1); i < len(values) {
		return values[i]
	}
	return strings.Repeat("long ", m.IntN(2000))
}
