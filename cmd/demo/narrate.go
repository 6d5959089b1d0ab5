package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/planner"
	"sekisho/internal/audit"
	"sekisho/internal/visible"
)

// narrator tells a run in plain words as its logs grow. Everything it shows of the model is escaped.
type narrator struct {
	out   io.Writer
	scene *scene
	// asked holds the arguments of calls whose decision is still to come, in order.
	asked []ollama.CallEntry
	audit []string // every audit line of the run, for the end
	// running is true while a process of the job runs.
	running bool
	// recoveryOnly leaves out everything but recovery.
	recoveryOnly bool
}

// rest tells what the logs hold beyond what was told.
func (n *narrator) rest(t *tail) error {
	entries, err := t.next()
	for _, e := range entries {
		err = errors.Join(err, n.tell(e))
	}
	return err
}

func (n *narrator) line(tag, format string, args ...any) {
	fmt.Fprintf(n.out, "  %-9s %s\n", tag, fmt.Sprintf(format, args...))
}

func (n *narrator) tell(e entry) error {
	if n.recoveryOnly && !bytes.Contains(e.raw, []byte(`"recovery.`)) {
		return nil
	}
	if e.log == "llm.jsonl" {
		var r ollama.CallRecord
		if err := json.Unmarshal(e.raw, &r); err != nil {
			return err
		}
		n.model(r)
		return nil
	}
	n.audit = append(n.audit, string(e.raw))
	var ev audit.Event
	if err := json.Unmarshal(e.raw, &ev); err != nil {
		return err
	}
	n.event(ev)
	return nil
}

func (n *narrator) model(r ollama.CallRecord) {
	if r.Response == nil {
		n.line("model", "the call failed: %s", r.ErrorCode)
		return
	}
	switch r.Phase {
	case agent.PhasePlanning, agent.PhaseReplanning:
		n.plan(r)
	case agent.PhaseExecution:
		n.results(r.Prompt)
		n.asked = append(n.asked, r.Response.ToolCalls...)
		if len(r.Response.ToolCalls) == 0 && strings.TrimSpace(r.Response.Content) != "" {
			n.line("model", "says: %s", visible.Line(r.Response.Content, 200))
		}
	}
}

// results shows the first lines of what the calls before this one gave the model.
func (n *narrator) results(prompt []ollama.MessageRecord) {
	var fresh []string
	for i := len(prompt) - 1; i >= 0; i-- {
		if prompt[i].Role == "tool" {
			fresh = append(fresh, prompt[i].Content)
		} else if prompt[i].Role == "assistant" {
			break
		}
	}
	for i := len(fresh) - 1; i >= 0; i-- {
		_, text, _ := strings.Cut(fresh[i], "\n") // the first line is a header for the runtime
		shown := 0
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && shown < outputLines {
				n.line("", "| %s", n.short(visible.Line(line, 150)))
				shown++
			}
		}
	}
}

// outputLines bounds what is shown of one result.
const outputLines = 6

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (n *narrator) plan(r ollama.CallRecord) {
	what := "plan"
	if r.Phase == agent.PhaseReplanning {
		what = "new plan"
	}
	graph, err := planner.ParsePlan([]byte(r.Response.Content), 32)
	if err != nil {
		n.line(what, "refused: %s", visible.Line(err.Error(), 200))
		return
	}
	var total float64
	for _, t := range graph.Tasks() {
		total += t.Estimate.Expected()
	}
	n.line(what, "%s, about %.0f tokens; critical path %s with %d tokens", count(len(graph.Tasks()), "task"), total,
		strings.Join(graph.CriticalPath(), " → "), graph.CriticalPathTokens())
	for _, t := range graph.Tasks() {
		after := ""
		if len(t.DependsOn) > 0 {
			after = ", after " + strings.Join(t.DependsOn, ", ")
		}
		n.line("", "%s: %s (about %.0f tokens of %s%s)", visible.Line(t.ID, 20), n.short(visible.Line(t.Description, 150)), t.Estimate.Expected(), t.Budget, after)
	}
}

func (n *narrator) event(e audit.Event) {
	switch e.Event {
	case audit.TaskStart:
		n.line("sandbox", "the task may use: %s", n.grants(e))
	case audit.ToolCall:
		arguments := ""
		if len(n.asked) > 0 {
			arguments = n.arguments(n.asked[0])
			n.asked = n.asked[1:]
		}
		n.line("call", "%s%s → %s", e.Tool, arguments, e.Decision)
	case audit.PolicyDeny:
		n.line("DENIED", "%s %s: %s (%s)", e.Kind, n.short(visible.Line(e.Target, 150)), e.Reason, e.ErrorCode)
	case audit.ProcessStart:
		n.running = e.Decision == audit.Allow
		n.line("process", "%s %s, checked %.12s…", n.short(e.Exe), e.Decision, e.SHA256)
	case audit.ProcessExit:
		n.running = false
		switch {
		case e.Limit != "":
			n.line("process", "ended by %s", e.Limit)
		case e.ExitCode != nil:
			n.line("process", "exit code %d", *e.ExitCode)
		default:
			n.line("process", "ended by %s", e.Signal)
		}
	case audit.FileWrite:
		n.line("file", "wrote %s: %.8s… → %.8s…", n.short(e.Path), e.BeforeSHA256, e.AfterSHA256)
	case audit.FileDelete:
		n.line("file", "deleted %s", n.short(e.Path))
	case audit.RecoveryStart:
		n.line("recovery", "an earlier server died; undoing what it left")
	case audit.RecoveryEnd:
		for _, u := range e.Undone {
			n.line("recovery", "undone: %s %s, verified %t", u.Effect, n.short(u.Target), u.Verified)
		}
	case audit.TaskEnd:
		n.line("end", "%s %s", e.FinalState, e.ErrorCode)
	}
}

// short writes the stage's long temporary path as the word it stands for.
func (n *narrator) short(s string) string {
	s = strings.ReplaceAll(s, n.scene.run.Workspace, "WORKSPACE")
	return strings.ReplaceAll(s, filepath.Dir(n.scene.run.Secret), "PRIVATE")
}

func (n *narrator) grants(e audit.Event) string {
	var parts []string
	for _, g := range e.Grants {
		parts = append(parts, n.short(g.Path)+" ("+g.Rights+")")
	}
	return strings.Join(parts, "; ")
}

func (n *narrator) arguments(c ollama.CallEntry) string {
	var m map[string]any
	if json.Unmarshal(c.Arguments, &m) != nil {
		return ""
	}
	var parts []string
	for _, name := range []string{"operation", "path", "root", "mode", "query", "executable", "args", "cwd"} {
		if v, ok := m[name]; ok && v != nil {
			parts = append(parts, n.short(visible.Line(fmt.Sprint(v), 120)))
		}
	}
	return " " + strings.Join(parts, " ")
}
