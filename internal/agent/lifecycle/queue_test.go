package lifecycle

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// proves A-MCP-04
func TestAReaderThatDoesNotReadStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		q := newQueue(w)
		start := time.Now()
		for i := range 2 * queueLines {
			fmt.Fprintf(q, "line %d\n", i)
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("writes waited %v for the reader", waited)
		}
		got := make(chan string)
		go func() {
			all, _ := io.ReadAll(r)
			got <- string(all)
		}()
		q.Close()
		w.Close()
		text := <-got
		if !strings.HasPrefix(text, "line 0\n") || !strings.Contains(text, "dropped=") {
			t.Errorf("what the late reader got: %.200q", text)
		}
		if n := strings.Count(text, "line "); n < queueLines || n > queueLines+1 {
			t.Errorf("%d lines got through, want about %d", n, queueLines)
		}
	})
}

// proves A-MCP-04
func TestTheEndWaitsForTheReaderOnlySoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		q := newQueue(w)
		io.WriteString(q, "never read\n")
		start := time.Now()
		q.Close()
		if waited := time.Since(start); waited != queueDrain {
			t.Errorf("Close waited %v, want %v", waited, queueDrain)
		}
		if n, err := q.Write([]byte("late")); n != 4 || err != nil {
			t.Errorf("a late write = %d, %v", n, err)
		}
		r.Close()
	})
}

// proves A-MCP-04
func TestEverythingIsPassedOnInOrder(t *testing.T) {
	var b bytes.Buffer
	q := newQueue(&b)
	for i := range 10 {
		fmt.Fprintln(q, i)
	}
	q.Close()
	if got := b.String(); got != "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n" {
		t.Errorf("got %q", got)
	}
}
