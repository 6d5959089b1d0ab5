package worker

import (
	"fmt"
	"testing"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/history"
	"sekisho/test/fakes/appserver"
)

// A thread that began here has no page that could be full: what its window forgot is told all the same.
//
// proves R-REC-11
func TestWhatTheWindowForgotIsTold(t *testing.T) {
	th := newThread(relay.Owner{}, "t", 1)
	w := &Worker{}
	if w.head(nil, th).Dropped {
		t.Error("an empty thread has lost something")
	}
	for i := range history.MaxItems + 1 {
		it := item(t, appserver.AgentMessage(fmt.Sprint("i", i), "x"))
		th.win.Note(1, &codex.ItemCompleted{ThreadID: "t", TurnID: "u", Item: it, CompletedAtMs: 1})
	}
	if !w.head(nil, th).Dropped {
		t.Error("what was forgotten is not told")
	}
}
