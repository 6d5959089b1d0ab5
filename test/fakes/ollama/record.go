package scriptmodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"sekisho/internal/strictjson"
)

// Recorder passes requests on to a real Ollama and keeps what was said as a script, so that one run with a real model
// becomes a replay. Prompts are kept as hashes unless the caller asks for more.
type Recorder struct {
	upstream string
	keepBody bool
	client   http.Client

	mu     sync.Mutex
	script recordedScript
}

// NewRecorder records what the server at upstream says; keepRequests keeps the prompts too.
func NewRecorder(upstream string, keepRequests bool) *Recorder {
	return &Recorder{upstream: strings.TrimRight(upstream, "/"), keepBody: keepRequests, client: http.Client{Transport: &http.Transport{}}}
}

// recordedScript holds only the members that a recording writes.
type recordedScript struct {
	Model         string         `json:"model"`
	Capabilities  *[]string      `json:"capabilities,omitempty"`
	ContextLength int64          `json:"context_length,omitzero"`
	NumCtx        int64          `json:"num_ctx,omitzero"`
	Rules         []recordedRule `json:"rules"`
	Otherwise     string         `json:"otherwise"`
}

type recordedRule struct {
	Name     string         `json:"name"`
	When     map[string]any `json:"when"`
	Once     bool           `json:"once"`
	Scope    string         `json:"scope"`
	Reply    map[string]any `json:"reply"`
	Recorded Recorded       `json:"recorded"`
}

// Close drops idle connections to the upstream.
func (c *Recorder) Close() { c.client.CloseIdleConnections() }

// ServeHTTP forwards r.
func (c *Recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		send(w, errorAnswer(http.StatusBadRequest, err.Error()))
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, c.upstream+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		send(w, errorAnswer(http.StatusBadGateway, err.Error()))
		return
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		send(w, errorAnswer(http.StatusBadGateway, err.Error()))
		return
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxRequest))
	if err != nil {
		send(w, errorAnswer(http.StatusBadGateway, err.Error()))
		return
	}
	switch r.URL.Path {
	case "/api/chat":
		c.keep(body, resp.StatusCode, reply)
	case "/api/show":
		c.learn(resp.StatusCode, reply)
	}
	send(w, answer{status: resp.StatusCode, contentType: resp.Header.Get("Content-Type"), body: reply})
}

// keep turns one exchange into a rule that is used once, in the order of the recording.
func (c *Recorder) keep(body []byte, status int, reply []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, err := decode(body)
	if err != nil {
		return // nobody replays a request that no client of ours can send
	}
	f := observe(q)
	rule := recordedRule{
		Name: fmt.Sprintf("call %03d", len(c.script.Rules)+1), Once: true, Scope: "server",
		When:     map[string]any{"phase": f.phase, "last_role": f.lastRole},
		Reply:    map[string]any{"status": status},
		Recorded: Recorded{RequestSHA256: fmt.Sprintf("%x", sha256.Sum256(body))},
	}
	if f.tool != nil {
		rule.When["last_tool"] = f.tool.ToolName
	}
	if json.Valid(reply) {
		rule.Reply["body"] = json.RawMessage(reply)
	} else {
		rule.Reply = map[string]any{"raw_status": status, "raw_body": strings.ToValidUTF8(string(reply), "?")}
	}
	if c.keepBody {
		rule.Recorded.Request = body
	}
	c.script.Model = q.Model
	if n, ok := q.int("num_ctx"); ok {
		c.script.NumCtx = n
	}
	c.script.Rules = append(c.script.Rules, rule)
}

func (c *Recorder) learn(status int, reply []byte) {
	var info struct {
		Capabilities *[]string                  `json:"capabilities"`
		ModelInfo    map[string]json.RawMessage `json:"model_info"`
	}
	if status != http.StatusOK || json.Unmarshal(reply, &info) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.script.Capabilities = info.Capabilities
	for name, value := range info.ModelInfo {
		if strings.HasSuffix(name, ".context_length") {
			json.Unmarshal(value, &c.script.ContextLength)
		}
	}
}

// Script returns the recording as JSON that Parse reads, after at least one chat call.
func (c *Recorder) Script() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.script.Otherwise = "fail"
	return strictjson.Marshal(c.script)
}
