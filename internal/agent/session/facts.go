package session

import (
	"fmt"
	"slices"
	"strings"

	"sekisho/internal/agent"
	"sekisho/internal/visible"
)

// facts is what a summary must not lose, kept by code and not by a model: what the user asked for, changed
// files, failure causes with their counts, denials.
type facts struct {
	requests []string
	files    []string
	failures []counted
	denials  []counted
}

type counted struct {
	text  string
	times int
}

func (f *facts) request(text string) {
	if !slices.Contains(f.requests, text) {
		f.requests = keep(append(f.requests, text), maxFacts)
	}
}

func (f *facts) changed(r Result) {
	for _, path := range r.Changed {
		line := visible.Line(path, 4096) + " (verified in task " + r.Planner + ": " + visible.Line(r.Description, 120) + ")"
		if !slices.Contains(f.files, line) {
			f.files = keep(append(f.files, line), maxFacts)
		}
	}
}

func (f *facts) failure(code, target string) { f.failures = count(f.failures, code, target) }
func (f *facts) denial(code, target string)  { f.denials = count(f.denials, code, target) }

func count(list []counted, code, target string) []counted {
	text := code
	if target != "" {
		text += ": " + visible.Line(target, 512)
	}
	if i := slices.IndexFunc(list, func(c counted) bool { return c.text == text }); i >= 0 {
		list[i].times++
		return list
	}
	return keep(append(list, counted{text, 1}), maxFacts)
}

// fold turns old conversation and results into lines that every later summary keeps.
func (s *Session) fold() {
	for _, r := range s.results {
		s.outcomes = keep(append(s.outcomes, r.Description+" -> "+r.Answer), maxFacts)
	}
	for _, t := range s.turns {
		s.answers = keep(append(s.answers, t.request+" -> "+t.answer), maxFacts)
	}
	s.turns, s.results = nil, nil
}

// render writes the deterministic summary.
func (s *Session) render() string {
	var b strings.Builder
	block(&b, "What the user asked for earlier", s.facts.requests, 4096)
	var open, done []string
	for _, t := range s.graph {
		line := fmt.Sprintf("%s [%s] depends on [%s]: %s", t.ID, t.State, strings.Join(t.DependsOn, ", "), t.Description)
		if t.State == agent.Completed {
			done = append(done, line)
		} else {
			open = append(open, line)
		}
	}
	block(&b, "Open tasks", open, 512)
	block(&b, "Completed tasks", done, 256)
	block(&b, "Results of completed tasks", s.outcomes, 400)
	block(&b, "Earlier answers", s.answers, 400)
	block(&b, "Files changed and verified", s.facts.files, 4608)
	block(&b, "Failures so far", tally(s.facts.failures), 600)
	block(&b, "Denied by the sandbox", tally(s.facts.denials), 600)
	return strings.TrimRight(b.String(), "\n")
}

func tally(list []counted) []string {
	var lines []string
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("%s (%d times)", c.text, c.times))
	}
	return lines
}

// block writes a title and one line per element. Elements may hold text of files and programs, so they are escaped.
func block(b *strings.Builder, title string, lines []string, limit int) {
	if len(lines) == 0 {
		return
	}
	b.WriteString(title + ":\n")
	for _, l := range lines {
		b.WriteString("- " + visible.Line(l, limit) + "\n")
	}
}
