package codex

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sekisho/internal/relay"
)

// proves R-PRI-01, R-CON-05: an identifier above relay.MaxID is malformed wherever it stands.
func TestLongIDsAreMalformed(t *testing.T) {
	const thread = `{"id":"%s","sessionId":"s","preview":"","ephemeral":false,"modelProvider":"m","status":{"type":"idle"},"cwd":"/","cliVersion":"v","source":"x","createdAt":1,"updatedAt":1,"turns":[]}`
	for method, params := range map[string]string{
		"thread/started":            `{"thread":` + thread + `}`,
		"thread/closed":             `{"threadId":"%s"}`,
		"turn/completed":            `{"threadId":"t","turn":{"id":"%s","items":[],"status":"completed"}}`,
		"item/agentMessage/delta":   `{"threadId":"t","turnId":"u","itemId":"%s","delta":"x"}`,
		"item/reasoning/textDelta":  `{"threadId":"t","turnId":"%s","itemId":"i","delta":"x","contentIndex":0}`,
		"item/started":              `{"threadId":"t","turnId":"u","startedAtMs":1,"item":{"id":"%s","type":"new"}}`,
		"item/completed":            `{"threadId":"t","turnId":"u","completedAtMs":1,"item":{"id":"i","type":"%s"}}`,
		"serverRequest/resolved":    `{"threadId":"t","requestId":"%s"}`,
		"item/mcpToolCall/progress": `{"threadId":"%s","turnId":"u","itemId":"i","message":"x"}`,
	} {
		for size, want := range map[int]error{relay.MaxID: nil, relay.MaxID + 1: ErrBadParams} {
			if _, err := DecodeNotification(method, []byte(fmt.Sprintf(params, strings.Repeat("x", size)))); !errors.Is(err, want) {
				t.Errorf("%s with %d bytes: %v", method, size, err)
			}
		}
	}
	long := strings.Repeat("x", relay.MaxID+1)
	for method, example := range examples {
		if _, err := DecodeServerRequest(method, without(t, example, "threadId", long)); !errors.Is(err, ErrBadParams) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := DecodeResult([]byte(`{"thread":`+fmt.Sprintf(thread, long)+`}`), new(ThreadReadResult)); !errors.Is(err, ErrBadParams) {
		t.Error(err)
	}
}

// proves R-PRI-01: what is kept of a turn and of a thread's status is bounded when it is decoded.
func TestKeptTextIsCutWhenDecoded(t *testing.T) {
	big := strings.Repeat("é", 2<<20)
	failure := `{"message":"` + big + `","additionalDetails":"` + big + `","codexErrorInfo":"` + big + `"}`
	check := func(e *TurnError) {
		t.Helper()
		if e == nil || len(e.Message) != MaxErrorText || len(e.AdditionalDetails) != MaxErrorText || e.Info != nil {
			t.Errorf("%d bytes", len(e.Message))
		}
	}
	turn := `{"id":"u","items":[],"status":"` + big + `","error":` + failure + `}`
	n, err := DecodeNotification("turn/completed", []byte(`{"threadId":"t","turn":`+turn+`}`))
	if err != nil {
		t.Fatal(err)
	}
	check(n.(*TurnDone).Turn.Error)
	if n := len(n.(*TurnDone).Turn.Status); n != relay.MaxID {
		t.Errorf("a status of %d bytes", n)
	}
	if n, err = DecodeNotification("error", []byte(`{"threadId":"t","turnId":"u","willRetry":false,"error":`+failure+`}`)); err != nil {
		t.Fatal(err)
	}
	check(&n.(*ErrorNote).Error)
	var page TurnsListResult
	if err := DecodeResult([]byte(`{"data":[`+turn+`]}`), &page); err != nil {
		t.Fatal(err)
	}
	check(page.Data[0].Error)

	n, err = DecodeNotification("thread/status/changed", []byte(`{"threadId":"t","status":{"type":"active","activeFlags":["`+big+`","waitingOnUserInput","new","waitingOnApproval","waitingOnApproval"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if s := n.(*ThreadStatusChanged).Status; !slices.Equal(s.ActiveFlags, []string{FlagWaitApproval, FlagWaitsUserInput}) || s.Type != StatusActive {
		t.Errorf("%d flags, %q", len(s.ActiveFlags), s.Type)
	}
	if n, err = DecodeNotification("thread/status/changed", []byte(`{"threadId":"t","status":{"type":"`+big+`"}}`)); err != nil || len(n.(*ThreadStatusChanged).Status.Type) != relay.MaxID {
		t.Error(err)
	}
}
