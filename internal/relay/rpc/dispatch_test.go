package rpc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/relay/transport"
	"sekisho/test/goroutines"
)

func TestMain(m *testing.M) { goroutines.Main(m) }

// proves R-CON-05, R-CON-07
func TestServerRequestsAreDispatchedExactly(t *testing.T) {
	for name, tc := range map[string]struct{ frame, reply string }{
		"unknown":             {`{"id":0,"method":"item/fooApproval/requestApproval","params":{}}`, `{"id":0,"error":{"code":-32601,"message":"method not found"}}`},
		"wrong case":          {`{"id":1,"method":"Item/CommandExecution/requestApproval","params":{}}`, `{"id":1,"error":{"code":-32601,"message":"method not found"}}`},
		"trailing space":      {`{"id":"a","method":"item/commandExecution/requestApproval ","params":{}}`, `{"id":"a","error":{"code":-32601,"message":"method not found"}}`},
		"legacy":              {`{"id":2,"method":"execCommandApproval","params":{}}`, `{"id":2,"error":{"code":-32601,"message":"method not found"}}`},
		"clock":               {`{"id":3,"method":"currentTime/read","params":{"threadId":"t"}}`, `{"id":3,"error":{"code":-32601,"message":"method not found"}}`},
		"dynamic tool":        {`{"id":4,"method":"item/tool/call","params":{}}`, `{"id":4,"error":{"code":-32601,"message":"not supported by this client"}}`},
		"attestation":         {`{"id":5,"method":"attestation/generate","params":{}}`, `{"id":5,"error":{"code":-32601,"message":"not supported by this client"}}`},
		"token":               {`{"id":6,"method":"account/chatgptAuthTokens/refresh","params":{"reason":"unauthorized"}}`, `{"id":6,"error":{"code":-32601,"message":"not supported by this client"}}`},
		"bad payload":         {`{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t"}}`, `{"id":0,"error":{"code":-32602,"message":"invalid params"}}`},
		"no payload":          {`{"id":"","method":"item/fileChange/requestApproval"}`, `{"id":"","error":{"code":-32602,"message":"invalid params"}}`},
		"unknown elicitation": {`{"id":9,"method":"mcpServer/elicitation/request","params":{"threadId":"t","serverName":"s","mode":"voice"}}`, `{"id":9,"error":{"code":-32602,"message":"invalid params"}}`},
		"handled":             {fmt.Sprintf(approval, "0"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, r := newWire(), newRecord()
				start(t, w, r)
				began := time.Now()
				w.say(tc.frame)
				synctest.Wait()
				var want []string
				if tc.reply != "" {
					want = []string{tc.reply}
				}
				if diff := cmp.Diff(want, w.frames()); diff != "" {
					t.Error(diff)
				}
				if cards := len(r.requests); cards != 0 != (tc.reply == "") {
					t.Errorf("%d cards", cards)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// proves R-CON-05, R-CONN-09
func TestAThousandMalformedRequestsAndAStalledPage(t *testing.T) {
	w, r := newWire(), newRecord()
	r.stall = make(chan struct{})
	c := start(t, w, r)
	w.say(`{"method":"thread/closed","params":{"threadId":"t"}}`) // nobody takes anything from here on
	for i := range 500 {
		w.say(fmt.Sprintf(`{"id":%d,"method":"item/permissions/requestApproval","params":{"permissions":%d}}`, i, i),
			fmt.Sprintf(`{"id":"%d","method":"no/such%d","params":[]}`, i, i), `{not json`, `[]`, `null`, `{"id":1.5,"method":"x"}`)
	}
	got := w.hear(1000)
	seen := map[string]int{}
	for _, f := range got {
		seen[ids(t, f)]++
	}
	if len(seen) != 1000 || len(got) != 1000 {
		t.Errorf("%d replies to %d ids", len(got), len(seen))
	}
	done := make(chan error)
	go func() {
		var result codex.ThreadReadResult
		_, err := c.Call(context5s(t), codex.TurnInterrupt, codex.TurnInterruptParams{ThreadID: "t", TurnID: "u"}, nil, CallOptions{})
		_ = result
		done <- err
	}()
	frame := w.hear(1001)[1000]
	w.say(`{"id":` + ids(t, frame) + `,"result":{}}`)
	if err := <-done; err != nil {
		t.Errorf("a normal call afterwards: %v", err)
	}
	if s := c.Stats(); s.Garbage != 2000 || s.Refused != 1000 {
		t.Errorf("%+v", s)
	}
}

// proves R-INT-01, R-CON-05
func TestRepeatedIdsOfPendingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWire(), newRecord()
		c := start(t, w, r)
		w.say(fmt.Sprintf(approval, "0"), fmt.Sprintf(approval, "0"), `{"id":0,"method":"no/such"}`, fmt.Sprintf(approval, `"0"`))
		synctest.Wait()
		if diff := cmp.Diff([]string{"request 0 " + codex.MethodCommandApproval, `request "0" ` + codex.MethodCommandApproval}, r.seen()); diff != "" {
			t.Fatal(diff)
		}
		reply := codex.DecisionReply{Decision: codex.Decision{Kind: codex.Decline}}
		key := r.requests[0].Key
		if o, err := c.Reply(t.Context(), key, reply); o != ledger.Sent || err != nil {
			t.Fatal(o, err)
		}
		w.say(fmt.Sprintf(approval, "0")) // repeated before the server took the answer
		synctest.Wait()
		if o, err := c.Reply(t.Context(), key, reply); o != ledger.NotSent || err == nil {
			t.Error(o, err)
		}
		w.say(`{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":0}}`, `{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":99}}`)
		synctest.Wait()
		if diff := cmp.Diff([]string{`{"id":0,"result":{"decision":"decline"}}`}, w.frames()); diff != "" {
			t.Error(diff)
		}
		if s := c.Stats(); s.Duplicates != 3 {
			t.Errorf("%+v", s)
		}
		w.say(fmt.Sprintf(approval, "0")) // the id is free again: a new request
		synctest.Wait()
		if len(r.requests) != 3 {
			t.Errorf("%d requests", len(r.requests))
		}
	})
}

// proves R-CONN-02
func TestResponsesToNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWire(), newRecord()
		c := start(t, w, r)
		w.say(`{"id":1,"result":{}}`, `{"id":"1","result":{}}`, `{"id":0,"error":{"code":1,"message":""}}`)
		synctest.Wait()
		var outcome Outcome
		go func() {
			outcome, _ = c.Call(t.Context(), codex.TurnInterrupt, codex.TurnInterruptParams{}, nil, CallOptions{})
		}()
		synctest.Wait()
		w.say(`{"id":1,"result":{}}`, `{"id":1,"error":{"code":-32600,"message":"no active turn"}}`)
		synctest.Wait()
		if outcome != ledger.Confirmed || c.Stats().Late != 4 {
			t.Errorf("%s, %+v", outcome, c.Stats())
		}
	})
}

// proves R-CON-07, R-CON-05
func TestTranscriptsReachTheHandlerWhole(t *testing.T) {
	files, err := filepath.Glob("../codex/testdata/transcripts/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w, r := newWire(), newRecord()
		c := start(t, w, r)
		n, odd := 0, strings.Contains(file, "after-eof")
		for line := range strings.Lines(string(data)) {
			if !strings.Contains(line, `"dir":"recv"`) {
				continue
			}
			_, msg, ok := strings.Cut(strings.TrimSpace(line), `"msg":`)
			if !ok || !strings.HasPrefix(msg, "{") {
				continue
			}
			w.say(strings.TrimSuffix(msg, "}"))
			n++
		}
		w.finish(lostErr())
		<-r.ended
		if s := c.Stats(); s.Garbage != 0 || s.Malformed != 0 || s.Dropped != 0 {
			t.Errorf("%s: %d frames, %+v (%v)", filepath.Base(file), n, s, odd)
		}
	}
}

// FuzzFrame: whatever arrives, the reader goes on, every request id is answered at most once, and nothing is left behind.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{`{"id":0,"method":"x"}`, fmt.Sprintf(approval, "0"), `{"id":1,"result":{}}`, `{"method":"turn/started","params":{}}`,
		`{"id":1,"error":null}`, `{"id":null,"method":"x"}`, `{"method":"a","method":"b"}`, `{"id":1,"id":2}`, "\xff", `{"a":` + strings.Repeat("[", 300)} {
		f.Add([]byte(s))
	}
	files, _ := filepath.Glob("../codex/testdata/transcripts/*.jsonl")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if _, msg, ok := strings.Cut(strings.TrimSpace(line), `"msg":`); ok && len(msg) < 3000 {
				f.Add([]byte(strings.TrimSuffix(msg, "}")))
			}
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		w, r := newWire(), newRecord()
		c := New(w, Options{Generation: 1, Version: codex.Target, Handler: r})
		w.say(string(frame), string(frame), `{"id":"last","method":"no/such"}`)
		w.hearText(`"last"`)
		w.finish(lostErr())
		<-c.Done()
		if n := len(w.frames()); n > 3 {
			t.Errorf("%d frames were sent", n)
		}
		c.Close(transport.ShuttingDown)
		c.Wait()
	})
}
