package runtime

import (
	"strings"
	"testing"
	"testing/synctest"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

// proves A-RUN-03
func TestTheQueueHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), hangs)
		var last Accepted
		for range maxUnfinished {
			last = w.enqueue(Request{})
		}
		for range 3 {
			if a, err := w.Enqueue(Request{Text: "one more"}); fault.CodeOf(err) != fault.ServerBusy || a != (Accepted{}) {
				t.Fatalf("task %d: %+v, %v", maxUnfinished+1, a, err)
			}
		}
		w.mu.Lock()
		if len(w.tasks) != maxUnfinished {
			t.Errorf("%d tasks exist", len(w.tasks))
		}
		w.mu.Unlock()
		if err := w.Cancel(t.Context(), last.TaskID); err != nil {
			t.Fatal(err)
		}
		w.enqueue(Request{}) // an end makes room
		if _, err := w.Enqueue(Request{Text: "one more"}); fault.CodeOf(err) != fault.ServerBusy {
			t.Error("after the room was taken:", err)
		}
	})
}

// proves A-RUN-03
func TestTheQueueIsBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config(), hangs)
		data := strings.Repeat("A", 30<<20) // one string for all: the test counts, it does not fill memory
		q := Request{Text: "x", Images: []agent.Image{{MIMEType: "image/png", Data: data}}}
		var accepted []Accepted
		for {
			a, err := w.Enqueue(q)
			if fault.CodeOf(err) == fault.ServerBusy {
				break
			}
			if err != nil || len(accepted) > maxUnfinished {
				t.Fatalf("after %d: %v", len(accepted), err)
			}
			accepted = append(accepted, a)
		}
		if want := maxUnfinishedBytes / (30<<20 + 1); len(accepted) != want {
			t.Errorf("%d requests were accepted, want %d", len(accepted), want)
		}
		w.enqueue(Request{Text: "small ones still fit"})
		if err := w.Cancel(t.Context(), accepted[len(accepted)-1].TaskID); err != nil {
			t.Fatal(err)
		}
		w.enqueue(q)
	})
}
