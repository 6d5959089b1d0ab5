//go:build realcodex

package e2ecore

import (
	"strings"
	"testing"

	"sekisho/internal/relay"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/headless"
)

// both runs a scenario over a child and over a WebSocket with a bearer token.
func both(t *testing.T, o options, scenario func(t *testing.T, w *world)) {
	for name, remote := range map[string]bool{"stdio": false, "websocket": true} {
		t.Run(name, func(t *testing.T) {
			o := o
			o.remote = remote
			w := newWorld(t, o)
			scenario(t, w)
			w.fit()
		})
	}
}

// proves R-CONN-01, R-CONN-05, R-UI-04, R-REC-07
func TestTextTurn(t *testing.T) {
	both(t, options{}, func(t *testing.T, w *world) {
		textTurn(t, w)
		var health uicontract.ProbeResult
		w.Must(w.Do(uicontract.CmdProbe, nil, &health))
		if w.profile.Remote() != (len(health.Probes) == 2) {
			t.Errorf("health: %+v", health)
		}
		for _, p := range health.Probes {
			if p.Status != 200 {
				t.Errorf("health: %+v", p)
			}
		}
	})
}

func textTurn(t *testing.T, w *world) {
	id := w.Thread()
	turn := w.Send(id, "SCN text Hello there from fake model")
	w.Turn(id, turn, "completed")
	w.Wait("the answer", func(v *headless.View) bool {
		texts := v.Texts(id, "agentMessage")
		return len(texts) == 1 && texts[0] == "Hello there from fake model"
	})
	w.tape.Once(t, "initialize", `"version":"0.159.1"`)
	w.tape.Once(t, "thread/start")
	w.tape.Once(t, "turn/start", `"text":"SCN text Hello there from fake model"`, `"clientUserMessageId":"relay-`)
	w.tape.Times(t, "thread/resume", 0)
	w.Watch.Look(func(v *headless.View) {
		if got := v.Texts(id, "userMessage"); len(got) != 1 || !strings.HasPrefix(got[0], "SCN text") {
			t.Errorf("user messages %q", got)
		}
		o := outcome(v, id)
		if o == nil || o.State != uicontract.OutcomeConfirmed || o.Text != "" {
			t.Errorf("outcome %+v", o)
		}
	})
}

// outcome is that of the last message to a thread.
func outcome(v *headless.View, id relay.ThreadID) *uicontract.Outcome {
	for i := len(v.Outcomes) - 1; i >= 0; i-- {
		if o := &v.Outcomes[i]; o.Thread == id && o.Kind == string(uicontract.CmdTurnSend) {
			return o
		}
	}
	return nil
}
