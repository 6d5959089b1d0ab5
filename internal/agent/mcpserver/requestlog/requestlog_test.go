package requestlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/agent/mcpserver/httpd"
	"sekisho/internal/fileop"
	"sekisho/internal/rolling"
	"sekisho/test/goroutines"
)

func TestMain(m *testing.M) { goroutines.Main(m) }

// slow is a log file that hangs until it is let go.
type slow struct {
	mu     sync.Mutex
	out    bytes.Buffer
	gate   chan struct{} // nil never hangs
	err    error
	writes int
}

func (s *slow) Write(p []byte) (int, error) {
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.err != nil {
		return 0, s.err
	}
	return s.out.Write(p)
}

func record(n int) httpd.Record {
	return httpd.Record{Time: time.Now(), Verb: "POST", Endpoint: "/mcp", Status: 200, In: int64(n), Out: 5, Duration: time.Millisecond,
		Routing: httpd.Routing{Protocol: "2026-07-28", Method: "tools/call", Tool: "agent_run"}}
}

func sinks(lines, text io.Writer) Sinks {
	form := func(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
	return Sinks{Lines: lines, Text: text, Form: form, Log: form(text)}
}

// parse returns the lines; each must be one JSON object.
func parse(t *testing.T, text string) []map[string]any {
	t.Helper()
	var got []map[string]any
	for l := range strings.Lines(text) {
		m := map[string]any{}
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		got = append(got, m)
	}
	return got
}

// Requests do not wait for a log that hangs; what did not fit is counted, told, and nothing else is lost.
//
// proves A-MCP-09
func TestAddNeverWaitsAndDropsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, app := &slow{gate: make(chan struct{})}, &bytes.Buffer{}
		l := New(sinks(file, app))
		const added = 3 * queued
		for i := range added { // in this bubble waiting would be a deadlock, which ends the test
			l.Add(record(i))
		}
		synctest.Wait()
		close(file.gate)
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		requests, dropped := 0, 0
		for _, m := range parse(t, file.out.String()) {
			switch m["event"] {
			case "request":
				requests++
			case "dropped":
				dropped += int(m["count"].(float64))
			}
		}
		if requests+dropped != added || dropped == 0 || requests < queued {
			t.Errorf("%d requests and %d dropped, want %d together", requests, dropped, added)
		}
		warned := 0 // in one warning or several: the writer may have started before the last request came
		for _, m := range regexp.MustCompile(`level=WARN.* dropped=(\d+)`).FindAllStringSubmatch(app.String(), -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			warned += n
		}
		if n := strings.Count(app.String(), `msg="HTTP request"`); warned != dropped || n != requests {
			t.Errorf("the application log tells %d requests and %d dropped, want %d and %d", n, warned, requests, dropped)
		}
		if file.writes > requests/10 {
			t.Errorf("%d writes for %d waiting requests", file.writes, requests)
		}
	})
}

// proves A-MCP-09
func TestCloseFlushesOrGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &slow{}
		l := New(sinks(file, io.Discard))
		for i := range 10 {
			l.Add(record(i))
		}
		if err := errors.Join(l.Close(t.Context()), l.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		l.Add(record(11)) // late: neither a panic nor a line
		if n := len(parse(t, file.out.String())); n != 10 {
			t.Errorf("%d lines, want 10", n)
		}

		hung := &slow{gate: make(chan struct{})}
		l = New(sinks(hung, io.Discard))
		l.Add(record(1))
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a file that hangs: %v", err)
		}
		close(hung.gate)
		synctest.Wait()
	})
}

// proves A-MCP-09
func TestAFileThatCannotBeWrittenIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, app := &slow{err: errors.New("disk full")}, &bytes.Buffer{}
		l := New(sinks(file, app))
		for i := range 5 {
			l.Add(record(i))
			time.Sleep(time.Second)
		}
		file.mu.Lock()
		file.err = nil
		file.mu.Unlock()
		l.Add(record(6))
		time.Sleep(time.Second)
		synctest.Wait()
		if n := strings.Count(app.String(), "disk full"); n != 1 || len(parse(t, file.out.String())) != 1 {
			t.Errorf("told %d times, want once; file %q", n, file.out.String())
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The record type itself is the guard against content: it has numbers, times and words of closed sets. A field that could carry
// a client's text does not get in unseen.
//
// proves A-MCP-09
func TestRecordsHoldNothingOfTheRequest(t *testing.T) {
	want := "Duration Endpoint In Method Out Protocol Reason Status Time Tool Verb"
	var got []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[httpd.Record]()) {
		if !f.Anonymous {
			got = append(got, f.Name)
		}
	}
	if len(got) != len(strings.Fields(want)) {
		t.Errorf("fields %v, want %s", got, want)
	}
	for _, name := range got {
		if !strings.Contains(want, name) {
			t.Errorf("field %s is new: show that no payload, query, credential or session gets into it", name)
		}
	}
}

// proves A-MCP-09, A-LOG-01
func TestTheLogRotates(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	w, err := rolling.Open(fileop.OS(), dir, "http.jsonl", 2000, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	synctest.Test(t, func(t *testing.T) {
		l := New(sinks(w, io.Discard))
		for i := range 50 {
			l.Add(record(i))
			time.Sleep(time.Second) // one write each
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	names, err := os.ReadDir(dir.Name())
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, n := range names {
		if !strings.HasPrefix(n.Name(), "http.jsonl") {
			continue
		}
		kept++
		text, err := os.ReadFile(dir.Name() + "/" + n.Name())
		if err != nil || len(text) > 2000 && len(parse(t, string(text))) > batch {
			t.Errorf("%s: %d bytes, %v", n.Name(), len(text), err)
		}
		parse(t, string(text))
	}
	if kept != 4 {
		t.Errorf("%d files, want the active one and 3", kept)
	}
}
