package responses

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

type event struct {
	Type  string
	Delta string
	Item  struct {
		Type, Name, Namespace, Arguments, Input, Status string
		CallID                                          string `json:"call_id"`
	}
}

// ask sends one user text and, when out is not empty, an output after it.
func ask(t *testing.T, ctx context.Context, s *Server, text, out string) (*http.Response, <-chan event) {
	t.Helper()
	input := []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}}}
	if out != "" {
		input = append(input, map[string]any{"type": "function_call_output", "call_id": "call_1", "output": out})
	}
	body, err := json.Marshal(map[string]any{"model": "fake-model", "input": input, "tools": []any{map[string]any{"type": "function", "name": "exec_command"}}})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/responses", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan event, 100_000)
	go func() {
		defer close(events)
		defer resp.Body.Close()
		r := bufio.NewReader(resp.Body)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			var e event
			if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &e) == nil {
				events <- e
			}
		}
	}()
	return resp, events
}

func collect(events <-chan event) (all []event, text string) {
	for e := range events {
		all = append(all, e)
		if e.Type == "response.output_text.delta" {
			text += e.Delta
		}
	}
	return all, text
}

func TestScenarios(t *testing.T) {
	s := Start(t)
	for scenario, want := range map[string]string{
		"hello": "ok", "SCN text a b": "a b", "SCN flood 3 6": "w0 xxxw1 xxxw2 xxx", "SCN slow 2 1": "s0 s1 ", "SCN reason": "after reasoning",
		"SCN what": "unknown scenario what", "SCN text <p>\n- x\n</p>": "<p>\n- x\n</p>",
	} {
		_, events := ask(t, t.Context(), s, scenario, "")
		all, text := collect(events)
		if text != want || all[0].Type != "response.created" || all[len(all)-1].Type != "response.completed" {
			t.Errorf("%q: text %q, %d events", scenario, text, len(all))
		}
	}
	for scenario, want := range map[string]string{
		`SCN call exec_command {"cmd":"ls -l"}`:   `function_call||exec_command|{"cmd":"ls -l"}|completed`,
		`SCN nscall mcp__elicit ask_form {"a":1}`: `function_call|mcp__elicit|ask_form|{"a":1}|completed`,
		"SCN custom apply_patch *** Begin\n+x":    "custom_tool_call||apply_patch|*** Begin\n+x|completed",
		"SCN plan":                                `function_call||update_plan|{"explanation":"two steps","plan":[{"step":"look","status":"in_progress"},{"step":"act","status":"pending"}]}|completed`,
	} {
		_, events := ask(t, t.Context(), s, scenario, "")
		all, _ := collect(events)
		item := all[len(all)-2].Item
		if got := strings.Join([]string{item.Type, item.Namespace, item.Name, item.Arguments + item.Input, item.Status}, "|"); got != want || item.CallID == "" {
			t.Errorf("%q: %q, call id %q", scenario, got, item.CallID)
		}
		_, events = ask(t, t.Context(), s, scenario, "done")
		if _, text := collect(events); text != "tool done (1)" {
			t.Errorf("%q with an output: %q", scenario, text)
		}
	}
	resp, events := ask(t, t.Context(), s, "SCN fail 429", "")
	collect(events)
	if resp.StatusCode != 429 {
		t.Errorf("fail 429: %d", resp.StatusCode)
	}
	got := s.Requests()
	last := got[len(got)-1]
	if last.Scenario != "fail 429" || last.Model != "fake-model" || len(last.Tools) != 1 || last.Tools[0] != "exec_command" || len(got[len(got)-2].Outputs) != 1 {
		t.Errorf("recorded %+v", last)
	}
}

func TestHangAndGateEndWithTheClientOrTheServer(t *testing.T) {
	s := Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, events := ask(t, ctx, s, "SCN hang", "")
	if first := <-events; first.Type != "response.created" {
		t.Errorf("first event %q", first.Type)
	}
	cancel()
	if _, text := collect(events); text != "" {
		t.Errorf("a hung answer says %q", text)
	}
	_, events = ask(t, t.Context(), s, "SCN gate a one two", "")
	for e := range events {
		if e.Delta == "one " {
			break
		}
	}
	s.Release("a")
	s.Release("a")
	if _, text := collect(events); text != "two" {
		t.Errorf("after the gate: %q", text)
	}
}

func TestOtherPaths(t *testing.T) {
	s := Start(t)
	resp, err := http.Get(s.URL() + "/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if data, _ := io.ReadAll(resp.Body); !strings.Contains(string(data), "fake-model") {
		t.Errorf("models: %s", data)
	}
	if other, err := http.Get(s.URL() + "/x"); err != nil || other.StatusCode != 404 {
		t.Errorf("unknown path: %v, %v", other, err)
	} else {
		other.Body.Close()
	}
}

// The tutor greets and asks for one approval, tells what came back, and later does what a word asks for, in the language
// of the text.
func TestTutor(t *testing.T) {
	s := Start(t)
	s.Tutor()
	for _, tt := range []struct{ text, out, says, calls string }{
		{"hello", "", "nothing happens until you decide", "exec_command"},
		{"こんにちは", "", "決めるまで何も起きません", "exec_command"},
		{"hello", "the time", "the time", ""},
		{"a question please", "", "One question", "request_user_input"},
		{"ファイルを追加して", "", "このファイル", "apply_patch"},
		{"show markdown", "", "A longer answer", ""},
		{"SCN text as before", "", "as before", ""},
	} {
		_, events := ask(t, t.Context(), s, tt.text, tt.out)
		all, said := collect(events)
		var called string
		for _, e := range all {
			if e.Type == "response.output_item.done" && e.Item.Name != "" {
				called = e.Item.Name
			}
		}
		if !strings.Contains(said, tt.says) || called != tt.calls || all[len(all)-1].Type != "response.completed" {
			t.Errorf("%q: says %q, calls %q", tt.text, said, called)
		}
	}
}
