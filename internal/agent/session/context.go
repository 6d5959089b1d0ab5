package session

import (
	"sekisho/internal/agent"
	"sekisho/internal/agent/planner"
	"sekisho/internal/agent/prompt"
)

// Work is the running part of an agent task, of which the context of one execution call is assembled.
type Work struct {
	Frame    prompt.Frame
	Request  string
	Images   []agent.Image
	Graph    []planner.Task
	Current  planner.Task
	Missing  []string // what is not yet proven about Current
	Exchange *Exchange
	// Budget bounds, in bytes, how much of earlier results and conversation is repeated.
	Budget int
}

// Context assembles the messages of an execution call in the order of A-SES-02.
func (s *Session) Context(w Work) []agent.Message {
	run := prompt.Run{
		Frame: w.Frame, Request: w.Request, Images: w.Images, Current: Show(w.Current), Last: last(w),
		Summary: s.summary, Results: s.recentResults(w.Budget),
		Conversation: append(s.recentTurns(w.Budget), w.Exchange.Messages()...),
	}
	run.Current.Missing = w.Missing
	for _, t := range w.Graph {
		run.Graph = append(run.Graph, Show(t))
	}
	if notes := w.Exchange.dropped; len(notes) > 0 {
		run.Results = append(run.Results, bullets("Calls already made in the running task (shortened)", notes))
	}
	return run.Messages()
}

// Summarize folds old conversation and results into the deterministic summary and shortens the running exchange (A-SES-07).
// It reports whether the context got smaller; if not, sending it again would be the same mistake.
//
// The summary is made by code from retained facts; no model has a say in what is kept.
func (s *Session) Summarize(w Work) bool {
	before := Size(s.Context(w))
	s.fold()
	s.summary = s.render()
	w.Exchange.shrink(max(w.Budget/8, 512))
	return Size(s.Context(w)) < before
}

// Size is the number of bytes that messages bring into a prompt, images not counted.
func Size(messages []agent.Message) int {
	n := 0
	for _, m := range messages {
		n += len(m.Content) + len(m.Thinking)
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Arguments)
		}
	}
	return n
}

// Show is a planner task as the prompt shows it.
func Show(t planner.Task) prompt.Task {
	return prompt.Task{ID: t.ID, Description: t.Description, DependsOn: t.DependsOn, State: t.State,
		ExternalEffect: t.RequiresExternalEffect, RequiredTools: t.RequiredTools}
}

// recentResults renders the newest results that fit into half of budget, oldest first.
func (s *Session) recentResults(budget int) []string {
	var out []string
	left := budget / 2
	for i := len(s.results) - 1; i >= 0 && left > 0; i-- {
		text := s.results[i].text(max(budget/8, 512))
		left -= len(text)
		out = append([]string{text}, out...)
	}
	return out
}

func (r Result) text(limit int) string {
	text := "- task " + r.Planner + ", " + r.Description + "\n  answer: " + Cut(r.Answer, limit)
	for _, c := range r.Calls {
		text += "\n  " + Cut(c, limit)
	}
	return text
}

// recentTurns gives the newest turns that fit into a quarter of budget as conversation, oldest first.
func (s *Session) recentTurns(budget int) []agent.Message {
	var out []agent.Message
	left := budget / 4
	for i := len(s.turns) - 1; i >= 0 && left > 0; i-- {
		t := s.turns[i]
		pair := []agent.Message{
			{Role: "user", Content: Cut(t.request, max(budget/16, 512))},
			{Role: "assistant", Content: Cut(t.answer, max(budget/16, 512))},
		}
		left -= Size(pair)
		out = append(pair, out...)
	}
	return out
}

func last(w Work) bool {
	for _, t := range w.Graph {
		if t.ID != w.Current.ID && t.State != agent.Completed {
			return false
		}
	}
	return true
}

func bullets(title string, lines []string) string {
	text := title + ":"
	for _, l := range lines {
		text += "\n- " + l
	}
	return text
}
