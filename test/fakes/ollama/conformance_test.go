package scriptmodel_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	scriptmodel "sekisho/test/fakes/ollama"
)

// exchangeFile holds what a real Ollama 0.24 was asked and answered, with the tiny models of tools/ollama.
const exchangeFile = "testdata/transcripts.jsonl"

type recordedExchange struct {
	Name    string `json:"name"`
	Request struct {
		Method string          `json:"method"`
		Path   string          `json:"path"`
		Body   json.RawMessage `json:"body"`
	} `json:"request"`
	Response struct {
		Status int             `json:"status"`
		Type   string          `json:"type"`
		Body   json.RawMessage `json:"body"`
	} `json:"response"`
}

func exchanges(t *testing.T) []recordedExchange {
	t.Helper()
	data, err := os.ReadFile(exchangeFile)
	if err != nil {
		t.Fatal(err)
	}
	var out []recordedExchange
	for line := range bytes.Lines(data) {
		var e recordedExchange
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// shape is what must agree between servers: status, kind of body, words of an error, members, and how it ended.
type shape struct {
	Status  int
	Type    string
	Error   string
	Members []string // of the reply, its message, its first call, its first model
	Reason  string
	Calls   int
}

var (
	goType = regexp.MustCompile(` of type .*`)
	quoted = regexp.MustCompile(`'[^']*'`)
)

func describe(status int, contentType string, body []byte) shape {
	mediaType, _, _ := strings.Cut(contentType, ";")
	s := shape{Status: status, Type: mediaType}
	if mediaType == "application/x-ndjson" { // the last line ends the stream
		lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
		body = lines[len(lines)-1]
	}
	var reply map[string]any
	if json.Unmarshal(body, &reply) != nil {
		if !bytes.HasPrefix(body, []byte("{")) {
			s.Error = strings.TrimSpace(string(body))
		}
		return s
	}
	if text, ok := reply["error"].(string); ok {
		s.Error = quoted.ReplaceAllString(goType.ReplaceAllString(text, ""), "'…'")
		return s
	}
	s.Reason, _ = reply["done_reason"].(string)
	add := func(prefix string, v any) {
		if m, ok := v.(map[string]any); ok {
			for k := range m {
				s.Members = append(s.Members, prefix+k)
			}
		}
	}
	add("", reply)
	add("message.", reply["message"])
	if m, ok := reply["message"].(map[string]any); ok {
		if calls, ok := m["tool_calls"].([]any); ok {
			s.Calls = len(calls)
			add("call.", calls[0])
			add("function.", calls[0].(map[string]any)["function"])
		}
	}
	if models, ok := reply["models"].([]any); ok {
		add("model.", models[0])
	}
	slices.Sort(s.Members)
	return s
}

// modelFile members that Ollama gives only for some models.
var optional = []string{"license", "parameters", "system", "projector_info", "total_duration", "load_duration"}

func (s shape) comparable() shape {
	s.Members = slices.DeleteFunc(slices.Clone(s.Members), func(m string) bool { return slices.Contains(optional, m) })
	return s
}

var capabilities = map[string][]string{
	"tiny-plain": {"completion"}, "tiny-tools": {"completion", "tools", "thinking"}, "tiny-vision": {"completion", "vision"},
}

// scripted serves one exchange: the model says what the real one said, everything else is the server's own.
func scripted(t *testing.T, e recordedExchange) http.Handler {
	t.Helper()
	var q struct {
		Model string `json:"model"`
	}
	json.Unmarshal(e.Request.Body, &q)
	model := q.Model
	if capabilities[model] == nil {
		model = "tiny-plain"
	}
	reply := map[string]any{"content": "Hello from the scripted bigram model."}
	var got struct {
		Reason  string `json:"done_reason"`
		Eval    int64  `json:"eval_count"`
		Message struct {
			Content   string `json:"content"`
			Thinking  string `json:"thinking"`
			ToolCalls []struct {
				ID       string         `json:"id"`
				Function map[string]any `json:"function"`
			} `json:"tool_calls"`
		} `json:"message"`
	}
	body := e.Response.Body
	var stream string
	if json.Unmarshal(body, &stream) == nil {
		body, _, _ = bytes.Cut([]byte(stream), []byte("\n"))
	}
	if json.Unmarshal(body, &got) == nil && got.Reason != "length" {
		reply = map[string]any{"content": got.Message.Content, "thinking": got.Message.Thinking}
		var calls []any
		for _, c := range got.Message.ToolCalls {
			calls = append(calls, map[string]any{"id": c.ID, "name": c.Function["name"], "arguments": c.Function["arguments"]})
		}
		reply["tool_calls"] = calls
		if got.Eval > 0 {
			reply["eval_count"] = got.Eval // of a call that the server dropped, only this is left
		}
	}
	if e.Name == "think-numpredict-cut" {
		reply = map[string]any{"content": "answer", "thinking": "I should look at the readme first."}
	}
	if e.Name == "tools-numpredict-cut" {
		reply = map[string]any{"tool_calls": []any{map[string]any{"name": "file_read", "arguments": map[string]any{"path": "a long name that takes many tokens"}}}}
	}
	text, err := json.Marshal(map[string]any{"model": model, "lenient": true, "capabilities": capabilities[model], "context_length": 8192,
		"rules": []any{map[string]any{"reply": reply}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := scriptmodel.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return scriptmodel.New(s)
}

// The scripted model answers like the real one. With OLLAMA_TEST_URL set (an Ollama with the tiny models), the same table
// also checks that the recordings still describe that server.
//
// proves A-OLL-08
func TestConformance(t *testing.T) {
	real := os.Getenv("OLLAMA_TEST_URL")
	for _, e := range exchanges(t) {
		want := wanted(e)
		t.Run("scripted/"+e.Name, func(t *testing.T) { compare(t, e, want, serveOnce(t, scripted(t, e))) })
		if real != "" {
			t.Run("real/"+e.Name, func(t *testing.T) { compare(t, e, want, strings.TrimRight(real, "/")) })
		}
	}
}

func wanted(e recordedExchange) shape {
	body := []byte(e.Response.Body)
	var text string
	if json.Unmarshal(body, &text) == nil {
		body = []byte(text)
	}
	return describe(e.Response.Status, e.Response.Type, body).comparable()
}

func compare(t *testing.T, e recordedExchange, want shape, url string) {
	t.Helper()
	body := []byte(e.Request.Body)
	var text string
	switch {
	case string(body) == "null":
		body = nil
	case json.Unmarshal(body, &text) == nil:
		body = []byte(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), e.Request.Method, url+e.Request.Path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	status, contentType, reply := doFull(t, req)
	if d := cmp.Diff(want, describe(status, contentType, reply).comparable()); d != "" {
		t.Errorf("want (-) what was recorded, got (+): %s\n%.400s", d, reply)
	}
}

// The table must keep covering every group of the reference.
func TestConformanceIsBroad(t *testing.T) {
	groups := map[string]int{}
	for _, e := range exchanges(t) {
		group, _, _ := strings.Cut(e.Name, "-")
		groups[group]++
	}
	for _, g := range []string{"chat", "ctx", "format", "image", "logprobs", "meta", "ps", "show", "think", "tools"} {
		if groups[g] == 0 {
			t.Errorf("no exchange of group %s; there are %v", g, slices.Sorted(maps.Keys(groups)))
		}
	}
}
