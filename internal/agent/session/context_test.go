package session

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/planner"
	"sekisho/internal/agent/prompt"
)

func open(t *testing.T) *Session {
	t.Helper()
	s, _ := newStore()
	return s.Open("s", "")
}

func task(id string, state agent.Status) planner.Task {
	return planner.Task{ID: id, Description: "describe " + id, State: state}
}

func work(x *Exchange, tasks ...planner.Task) Work {
	return Work{Frame: prompt.Frame{Locale: "en"}, Request: "THE REQUEST", Graph: tasks, Current: tasks[0], Exchange: x, Budget: 8192}
}

func call(id, name, args string) agent.Message {
	return agent.Message{Role: "assistant", Thinking: "THOUGHT " + id, ToolCalls: []agent.ToolCall{{ID: id, Name: name, Arguments: []byte(args)}}}
}

func result(id, name, content string) []agent.Message {
	return []agent.Message{{Role: "tool", ToolName: name, ToolCallID: id, Content: content}}
}

func text(messages []agent.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "<%s>%s%s", m.Role, m.Content, m.Thinking)
	}
	return b.String()
}

// proves A-SES-02, A-SES-01
func TestContextHoldsResultsAndConversation(t *testing.T) {
	s := open(t)
	s.AddTurn("EARLIER REQUEST", "EARLIER ANSWER")
	s.AddResult(Result{Planner: "t1", Description: "describe t1", Answer: "ANSWER ONE", Calls: []string{"file_read -> CONTENT"}})
	x := &Exchange{}
	x.AddCalls(call("c1", "file_read", `{"path":"a"}`), result("c1", "file_read", "READ"))
	got := text(s.Context(work(x, task("t2", agent.Running), task("t1", agent.Completed))))
	at := 0
	for _, part := range []string{"describe t2", "ANSWER ONE", "CONTENT", "THE REQUEST", "EARLIER REQUEST", "EARLIER ANSWER", "THOUGHT c1", "READ", "last open task", "THE REQUEST"} {
		i := strings.Index(got[at:], part)
		if i < 0 {
			t.Fatalf("%q is missing or out of order in:\n%s", part, got)
		}
		at += i
	}
}

// proves A-OLL-04
func TestReasoningEndsWithTheExchange(t *testing.T) {
	x := &Exchange{}
	x.AddCalls(call("c1", "file_read", `{}`), result("c1", "file_read", "READ"))
	if !strings.Contains(text(x.Messages()), "THOUGHT c1") {
		t.Error("reasoning is lost inside the tool-call exchange")
	}
	x.AddText(agent.Message{Role: "assistant", Content: "done", Thinking: "THOUGHT 2"}, "not executed")
	if got := text(x.Messages()); strings.Contains(got, "THOUGHT") {
		t.Error("reasoning outlives the exchange:", got)
	}
}

// proves A-SES-07
func TestSummaryIsSmallerAndKeepsTheFacts(t *testing.T) {
	s := open(t)
	large := strings.Repeat("noise ", 2000)
	for i := range 6 {
		s.AddTurn(fmt.Sprintf("request %d: keep /w/f%d", i, i), "answer "+large)
		s.AddResult(Result{Planner: fmt.Sprint("t", i), Description: fmt.Sprintf("work %d", i), Answer: fmt.Sprintf("outcome %d ", i) + large, Calls: []string{large}, Changed: []string{fmt.Sprintf("/w/f%d", i)}})
	}
	s.AddDenial("policy.denied", "/etc/shadow")
	for range 3 {
		s.AddFailure("tool.failed", "/w/x")
	}
	s.SetGraph([]planner.Task{task("t8", agent.Running), {ID: "t9", Description: "describe t9", State: agent.Queued, DependsOn: []string{"t8"}}})
	x := &Exchange{}
	for i := range 5 {
		id := fmt.Sprint("c", i)
		x.AddCalls(call(id, "file_read", fmt.Sprintf(`{"path":"/w/f%d"}`, i)), result(id, "file_read", fmt.Sprintf("HEAD%d ", i)+large))
	}
	w := work(x, task("t8", agent.Running))
	before := s.Context(w)
	if !s.Summarize(w) {
		t.Fatal("the summary is not smaller")
	}
	after := s.Context(w)
	if Size(after) >= Size(before)/2 {
		t.Errorf("%d bytes became %d", Size(before), Size(after))
	}
	got := text(after)
	for _, fact := range []string{"request 0: keep /w/f0", "request 5: keep /w/f5", "outcome 3", "/w/f4", "policy.denied: /etc/shadow (1 times)", "tool.failed: /w/x (3 times)",
		"t9 [queued] depends on [t8]", "THE REQUEST", "HEAD4", `file_read {"path":"/w/f1"}`} {
		if !strings.Contains(got, fact) {
			t.Errorf("the summary lost %q", fact)
		}
	}
	if err := ollama.ValidateConversation(after); err != nil {
		t.Error("calls and results no longer pair:", err)
	}
	if s.Summarize(w) && Size(s.Context(w)) >= Size(after) {
		t.Error("a summary that is not smaller claims to be")
	}
	s.AddTurn("request 6", "answer 6")
	s.Summarize(w)
	if got := text(s.Context(w)); !strings.Contains(got, "outcome 3") || !strings.Contains(got, "request 6 -> answer 6") {
		t.Error("a later summary lost what an earlier one kept")
	}
}

// proves A-SES-07
func TestNothingToSummarizeIsReported(t *testing.T) {
	s := open(t)
	if s.Summarize(work(&Exchange{}, task("t1", agent.Running))) {
		t.Error("an empty session claims to have become smaller")
	}
}

// proves A-SES-07, A-OLL-08
func TestAnyExchangeStaysPairedAndNeverGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := newStore()
		session := s.Open("s", "")
		x := &Exchange{}
		for i := range rapid.IntRange(0, 8).Draw(t, "groups") {
			if rapid.Bool().Draw(t, "text") {
				x.AddText(agent.Message{Role: "assistant", Content: rapid.StringN(0, 40, 80).Draw(t, "content")}, "observe")
				continue
			}
			reply := agent.Message{Role: "assistant"}
			var results []agent.Message
			for j := range rapid.IntRange(1, 3).Draw(t, "calls") {
				id := fmt.Sprintf("c%d-%d", i, j)
				reply.ToolCalls = append(reply.ToolCalls, agent.ToolCall{ID: id, Name: "file_read", Arguments: []byte(`{}`)})
				results = append(results, result(id, "file_read", strings.Repeat("あ", rapid.IntRange(0, 3000).Draw(t, "size")))...)
			}
			x.AddCalls(reply, results)
		}
		w := work(x, task("t1", agent.Running))
		before := Size(session.Context(w))
		smaller := session.Summarize(w)
		after := session.Context(w)
		if smaller != (Size(after) < before) {
			t.Fatalf("reported %t for %d -> %d bytes", smaller, before, Size(after))
		}
		if err := ollama.ValidateConversation(after); err != nil {
			t.Fatal(err)
		}
		for _, m := range after {
			if !utf8.ValidString(m.Content) {
				t.Fatal("a character was cut in half")
			}
		}
	})
}

// proves A-SES-01
func TestMemoryIsBounded(t *testing.T) {
	s := open(t)
	for i := range 10 * maxFacts {
		s.AddTurn(fmt.Sprint("r", i), "a")
		s.AddResult(Result{Description: fmt.Sprint("d", i), Changed: []string{fmt.Sprint("/w/", i)}})
		s.AddFailure("c", fmt.Sprint(i))
		s.AddDenial("c", fmt.Sprint(i))
	}
	f := s.facts
	for name, n := range map[string]int{"turns": len(s.turns), "results": len(s.results), "requests": len(f.requests), "files": len(f.files), "failures": len(f.failures), "denials": len(f.denials)} {
		if n > maxFacts {
			t.Errorf("%d %s are kept", n, name)
		}
	}
}
