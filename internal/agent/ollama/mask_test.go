package ollama

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
	"sekisho/internal/redact"
)

const canary = `k3y-/canary"7f`

// everything is all that a call leaves for status, logs and the model.
func everything(t *testing.T, out Response, err error, log *memoryLog) string {
	t.Helper()
	text := fmt.Sprintf("%+v", out) + string(out.Logprobs)
	for _, call := range out.Message.ToolCalls {
		text += string(call.Arguments)
	}
	if e := fault.As(err); e != nil {
		text += fmt.Sprint(e, e.Args, e.Err, e.Target)
	} else if err != nil {
		text += err.Error()
	}
	records, jsonErr := json.Marshal(log.records)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	return text + string(records)
}

// What the server repeats of the request's header reaches nobody, whatever the answer's form.
//
// proves A-OLL-09
func TestTheServerMayRepeatTheCredential(t *testing.T) {
	escaped := func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, `\u%04x`, c)
		}
		return `"` + b.String() + `"`
	}
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	bodies := map[string]func(string) string{
		"error":         func(s string) string { return `{"error":` + quoted("bad header: "+s) + `}` },
		"error object":  func(s string) string { return `{"error":{"message":` + quoted(s) + `}}` },
		"other error":   func(s string) string { return `{"error":{"headers":[` + quoted(s) + `]}}` },
		"escaped error": func(s string) string { return `{"error":` + escaped(s) + `}` },
		"page":          func(s string) string { return "<pre>" + s + "</pre>" },
		"broken":        func(s string) string { return `{"message":` + s },
		"content": func(s string) string {
			return replyWith(`{"content":`+quoted("it is "+s)+`,"thinking":`+quoted(s)+`}`, "")
		},
		"done reason": func(s string) string { return replyWith(`{"content":"x"}`, `,"done_reason":`+quoted(s)) },
		"call": func(s string) string {
			return replyWith(`{"tool_calls":[{"id":`+quoted(s)+`,"function":{"name":`+quoted(s)+`,"arguments":{"path":`+escaped(s)+`,`+quoted(s)+`:1}}}]}`, "")
		},
		"arguments as text": func(s string) string {
			return replyWith(`{"tool_calls":[{"function":{"name":"file_read","arguments":`+quoted(`{"path":`+escaped(s)+`}`)+`}}]}`, "")
		},
		"call as text": func(s string) string {
			return replyWith(`{"content":`+quoted(`{"name":"file_read","arguments":{"path":`+escaped(s)+`}}`)+`}`, "")
		},
	}
	basic := base64.StdEncoding.EncodeToString([]byte("me:" + canary))
	for value, spoken := range map[string][]string{
		canary:             {canary},
		"Bearer " + canary: {"Bearer " + canary, canary},
		"Basic " + basic:   {basic, "me:" + canary, canary},
	} {
		for name, body := range bodies {
			for _, status := range []int{200, 301, 400, 401, 402, 403, 404, 405, 408, 429, 499, 500, 502, 503, 529} {
				for _, s := range spoken {
					log := &memoryLog{}
					cfg := testConfig()
					cfg.Log, cfg.HeaderValueFile = log, secretFile(t, value)
					c, stub, _ := stubbed(t, cfg, stubAnswer{status: status, body: body(s), header: http.Header{"Retry-After": {"1"}}})
					out, err := c.Chat(t.Context(), Request{
						Phase: agent.PhaseExecution, Messages: []agent.Message{{Role: "user", Content: "x"}}, Tools: []agent.ToolSpec{readTool}, Validate: needsPath})
					if got := stub.seen[0].header.Get("Authorization"); got != value {
						t.Fatalf("sent %q", got)
					}
					all := everything(t, out, err, log)
					for _, part := range []string{"canary", basic} {
						if strings.Contains(all, part) {
							t.Errorf("%s, %d, %q: repeated: %s", name, status, s, all)
						}
					}
				}
			}
		}
	}
}

// proves A-OLL-09
func TestABrokenExchangeMayRepeatTheCredential(t *testing.T) {
	for name, answer := range map[string]string{
		"status line": "HTTP/1.1 %s\r\n\r\n", "no http": "%s\r\n\r\n", "header": "HTTP/1.1 200 OK\r\n%s\r\n\r\n",
		"encoding": "HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: 0\r\n\r\n",
		"length":   "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n", "chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n",
		"transfer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan struct{})
		go func() {
			defer close(served)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				buffer := make([]byte, 64<<10)
				conn.Read(buffer)
				fmt.Fprintf(conn, answer, canary)
				conn.Close()
			}
		}()
		log := &memoryLog{}
		cfg := testConfig()
		cfg.Endpoint, cfg.Log, cfg.HeaderValueFile = "http://"+l.Addr().String(), log, secretFile(t, canary)
		cfg.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.Chat(t.Context(), ask("x"))
		c.Close()
		l.Close()
		<-served
		if all := everything(t, out, err, log); err == nil || strings.Contains(all, "canary") {
			t.Errorf("%s: %v: %s", name, err, all)
		}
	}
}

// A body without the credential keeps every byte; one with it loses it and stays JSON.
//
// proves A-OLL-09
func TestMaskProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := newMask(redact.New(canary))
		text := rapid.String().Draw(r, "text")
		plain, err := json.Marshal(map[string]any{"a": text, "n": 12345678901234567})
		if err != nil {
			r.Fatal(err)
		}
		if got := m.body(plain); string(got) != string(plain) {
			r.Errorf("changed %q to %q", plain, got)
		}
		with, err := json.Marshal(map[string]string{text: canary + text + canary})
		if err != nil {
			r.Fatal(err)
		}
		if got := m.body(with); !json.Valid(got) || strings.Contains(string(got), "canary") {
			r.Errorf("%q became %q", with, got)
		}
	})
}

func FuzzMask(f *testing.F) {
	f.Add([]byte(`{"error":"k3y-/canary\"7f"}`))
	f.Add([]byte(`{"a":"\u006b3y-/canary\"7f`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if out := newMask(redact.New(canary)).body(data); strings.Contains(string(out), canary) {
			t.Errorf("%q keeps the value", out)
		}
	})
}
