package codex

import "testing"

// proves R-PRI-03
func TestClassify(t *testing.T) {
	for _, test := range []struct {
		method  string
		code    int
		message string
		want    ErrorKind
	}{
		{"no/such/method", -32600, "Invalid request: unknown variant `no/such/method`, expected one of `initialize`, `server/diagnostics`", KindUnknownMethod},
		// The same words about a value, also about a value that is spelled like the method.
		{WindowsSetupStart, -32600, "Invalid request: unknown variant `bogus`, expected `elevated` or `unelevated`", KindBadParams},
		{WindowsSetupStart, -32600, "Invalid request: unknown variant `windowsSandbox/setupStart`, expected `elevated` or `unelevated`", KindBadParams},
		{ThreadStart, -32600, "Invalid request: unknown variant `on-failure`, expected one of `untrusted`, `on-request`, `granular`, `never`", KindBadParams},
		{ThreadRead, -32600, "Invalid request: missing field `threadId`", KindBadParams},
		{ThreadItemsList, -32600, "Invalid request: invalid type: map, expected a string", KindBadParams},
		{ThreadItemsList, -32600, "invalid cursor: zzz", KindBadParams},
		{ThreadRead, -32600, "Invalid request: something else", KindUnknown},
		{"memory/status", -32600, "memory/status requires experimentalApi capability", KindExperimental},
		{ThreadStart, -32600, "thread/start.dynamicTools requires experimentalApi capability", KindExperimental},
		{ThreadStart, -32600, "thread/resume requires experimentalApi capability", KindUnknown},
		{ThreadRead, -32600, "Not initialized", KindNotInitialized},
		{Initialize, -32600, "Already initialized", KindInitialized},
		{ThreadRead, -32600, "thread not loaded: 01890000-0000-7000-8000-000000000000", KindThreadNotFound},
		{TurnStart, -32600, "thread not found: 01890000-0000-7000-8000-000000000000", KindThreadNotFound},
		{ThreadResume, -32600, "no rollout found for thread id 01890000-0000-7000-8000-000000000000", KindThreadNotFound},
		{ThreadRead, -32600, "invalid thread id: invalid character", KindBadParams},
		{ThreadResume, -32600, "thread 01a22e41-4d95-78c1-8666-cd82ac0c1594 already has an active writer", KindWriterConflict},
		{McpOAuthLogin, -32600, "No MCP server named ' already has an active writer", KindUnknown},
		{TurnSteer, -32600, "expected active turn id `x` but found `y`", KindTurnMismatch},
		{TurnInterrupt, -32600, "no active turn to interrupt", KindTurnMismatch},
		{RateLimitsRead, -32600, "codex account authentication required to read rate limits", KindAuthRequired},
		{ModelList, -32600, "Gateway sign-in required or unavailable. Complete gateway sign-in and retry fetching the model list", KindAuthRequired},
		{ThreadItemsList, -32601, "thread/items/list is not supported yet", KindNotSupported},
		{ThreadRead, -32601, "Method not found", KindUnknown},
		{AttachmentAdd, -32602, "thread not found: x", KindThreadNotFound},
		{AttachmentAdd, -32602, "attachment payload must not exceed 65536 bytes", KindBadParams},
		{GatewayOAuthLogin, -32603, "Gateway sign-in was canceled", KindCanceled},
		{GatewayOAuthLogin, -32603, "Gateway sign-in failed; check the gateway configuration and credential store.", KindInternal},
		{ThreadRead, -32001, "Server overloaded; retry later.", KindOverloaded},
		{ThreadRead, 17, "Not initialized", KindUnknown},
		{"", -32600, "", KindUnknown},
	} {
		for _, version := range []string{Target, Regression} {
			if got := Classify(version, test.method, test.code, test.message); got != test.want {
				t.Errorf("%s %s %d %q: got %v, want %v", version, test.method, test.code, test.message, got, test.want)
			}
		}
		want := KindUnknown
		if test.code == CodeOverloaded {
			want = KindOverloaded
		}
		if got := Classify("0.171.0", test.method, test.code, test.message); got != want {
			t.Errorf("without a pinned contract %q is %v, want %v", test.message, got, want)
		}
	}
}

// Every error of the recorded sessions, by kind.
//
// proves R-PRI-03
func TestClassifyTranscripts(t *testing.T) {
	calls, got := map[string]string{}, map[ErrorKind]int{}
	for _, r := range transcripts(t) {
		if r.dir == "send" && r.method != "" {
			calls[r.file+r.id] = r.method
		}
		if r.dir != "recv" || r.err == nil {
			continue
		}
		version := Target
		if r.file == "09-0.155.1-smoke.jsonl" {
			version = Regression
		}
		k := Classify(version, calls[r.file+r.id], r.err.Code, r.err.Message)
		got[k]++
		if k == KindUnknown {
			t.Logf("%s: %s: %v", r.file, calls[r.file+r.id], r.err)
		}
	}
	want := map[ErrorKind]int{KindNotInitialized: 2, KindInitialized: 1, KindUnknownMethod: 2, KindBadParams: 9, KindThreadNotFound: 1, KindAuthRequired: 2,
		KindTurnMismatch: 1, KindCanceled: 2, KindExperimental: 5, KindInternal: 5, KindUnknown: 4}
	for k := KindUnknown; k <= KindInternal; k++ {
		if got[k] != want[k] {
			t.Errorf("%v: %d errors, want %d", k, got[k], want[k])
		}
	}
}
