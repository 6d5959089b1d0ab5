package scriptmodel

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const maxRequest = 64 << 20

func (v *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		send(w, errorAnswer(http.StatusBadRequest, err.Error()))
		return
	}
	a, reply := v.answer(r.Context(), body)
	if reply.DelayMS > 0 {
		t := time.NewTimer(time.Duration(reply.DelayMS) * time.Millisecond)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	}
	if reply.Gzip {
		a = compressed(a)
	}
	if reply.DropConnection != "" {
		drop(w, a, reply.DropConnection)
		return
	}
	send(w, a)
}

// answer decides under the lock; waiting and sending happen outside.
func (v *Server) answer(ctx context.Context, body []byte) (answer, Reply) {
	v.mu.Lock()
	defer v.mu.Unlock()
	q, err := decode(body)
	if err != nil {
		return errorAnswer(http.StatusBadRequest, err.Error()), Reply{}
	}
	v.received = append(v.received, Received{Body: body, Request: q})
	if bad := v.script.refuse(q); bad != nil {
		return errorAnswer(bad.status, bad.text), Reply{}
	}
	if !v.script.Lenient {
		if text := v.script.violation(q, v.numCtx); text != "" {
			a := v.fail("the request breaks a rule of the client: %s", text)
			if q.Stream != nil && !*q.Stream {
				return a, Reply{}
			} // a client that forgot stream:false gets what Ollama would send: a stream
		}
		now := fmt.Sprint(q.Options["num_ctx"])
		v.numCtx = &now
	}
	if len(q.Messages) == 0 {
		return load(q), Reply{}
	}
	f := observe(q)
	v.state.turns[f.conversation]++
	f.turn = v.state.turns[f.conversation]
	if v.live != nil {
		return v.ask(ctx, q, f.phase)
	}
	rule, values := v.state.pick(v.script.Rules, f)
	if rule == nil {
		return v.fail("no rule matches: phase %s, format %s, turn %d, last role %s, last tool %s (ok %v, error %q), tools %q, last user messages %.300q",
			f.phase, f.format, f.turn, f.lastRole, toolName(f.tool), f.toolOK, f.toolError, f.tools, f.lastUsers), Reply{}
	}
	v.uses[rule.Name]++
	v.received[len(v.received)-1].Rule = rule.Name
	return v.script.compose(q, rule, values), rule.Reply
}

func toolName(m *Message) string {
	if m == nil {
		return "none"
	}
	return m.ToolName
}

// load is the answer to a call without messages.
func load(q *ChatRequest) answer {
	reason := "load"
	var seconds float64 = 1
	if json.Unmarshal(q.KeepAlive, &seconds) == nil && seconds == 0 {
		reason = "unload"
	}
	body := mustJSON(wireReply{Model: q.Model, CreatedAt: time.Now().UTC(), Message: &wireMessage{Role: "assistant"}, Done: true, DoneReason: reason})
	return answer{status: http.StatusOK, contentType: jsonType, body: body}
}

func send(w http.ResponseWriter, a answer) {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	for name, value := range a.headers {
		h.Set(name, value)
	}
	w.WriteHeader(a.status)
	w.Write(a.body)
}

func compressed(a answer) answer {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(a.body)
	z.Close()
	headers := map[string]string{"Content-Encoding": "gzip"}
	for k, v := range a.headers {
		headers[k] = v
	}
	a.headers, a.body = headers, b.Bytes()
	return a
}

// drop breaks the connection at the named place; the peer sees a reset or an unexpected end.
func drop(w http.ResponseWriter, a answer, where string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // not an HTTP/1 connection
		send(w, errorAnswer(http.StatusInternalServerError, "scriptmodel: this connection cannot be dropped: "+err.Error()))
		return
	}
	defer conn.Close()
	if where == "before_headers" {
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		return
	}
	fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", a.status, http.StatusText(a.status), a.contentType, len(a.body))
	if where == "half_body" {
		conn.Write(a.body[:len(a.body)/2])
	}
}
