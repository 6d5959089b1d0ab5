//go:build linux && !cgo

package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// script makes the model plan one task and then make the given calls, one a turn.
func script(calls []edit) string {
	var b strings.Builder
	b.WriteString(`model: scripted:latest
capabilities: [completion, tools]
context_length: 32768
rules:
  - name: plan
    when: {phase: plan}
    reply:
      content:
        tasks:
          - {id: all, description: "Make all changes", depends_on: [], budget_class: 4K, optimistic_tokens: 100, most_likely_tokens: 200, pessimistic_tokens: 900, requires_external_effect: true, required_tools: [file_edit, dir, process_run]}
`)
	for i, c := range calls {
		fmt.Fprintf(&b, "  - name: call %d\n    when: {phase: run}\n    once: true\n    reply:\n      tool_calls: [{name: %s, arguments: %s}]\n", i, c.tool, c.arguments)
	}
	b.WriteString("  - name: end\n    when: {phase: run}\n    reply: {content: \"All changes are made.\"}\notherwise: fail\n")
	return b.String()
}

// proves A-TX-04, A-TX-02, A-TX-03, A-TX-01, A-PRI-03, A-SBX-11, ST-17
func TestAKillAtEveryDurableEffectLeavesNothing(t *testing.T) {
	all := undisturbed(t)
	for k := 1; k <= len(all); k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			s := newSite(t, script(edits))
			c, err := s.start(s.crashing, k)
			if err == nil {
				_, err = run(c)
			}
			end := c.Close()
			if !killed(end) {
				t.Fatalf("the server was to die at its effect %d, but ended with %v after %v\n%s", k, end, err, s.log())
			}
			s.restart()
			if err := judgeFiles(s.workspace); err != nil {
				t.Errorf("killed at %s: %v", s.lastEffect(), err)
			}
		})
	}
}

// undisturbed runs the script to its end and returns the effects that it counted.
func undisturbed(t *testing.T) []string {
	t.Helper()
	s := newSite(t, script(edits))
	c, err := s.start(s.crashing, 0)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, s.log())
	}
	status, err := run(c)
	if err != nil || !strings.Contains(status, "status: completed") {
		t.Fatalf("the undisturbed task: %v\n%s\n%s", err, status, s.log())
	}
	if err := c.Close(); err != nil {
		t.Fatalf("the undisturbed server ended with %v\n%s", err, s.log())
	}
	if err := s.leftovers(); err != nil {
		t.Errorf("an undisturbed server left %v", err)
	}
	for i, e := range edits {
		for name, want := range e.after {
			got, err := os.ReadFile(s.workspace + "/" + name)
			if !strings.HasSuffix(name, "/") && (err != nil || string(got) != string(want)) {
				t.Fatalf("change %d did not happen: %v", i, err)
			}
		}
	}
	// Each kill below thus happens with a spare about: not begun, half built, waiting, taken, or ended.
	if told, err := os.ReadFile(filepath.Join(s.StateRoot(), "logs", "audit.jsonl")); err != nil || !strings.Contains(string(told), `"sandbox":"spare"`) {
		t.Fatalf("the task took no spare: %v", err)
	}
	data, err := os.ReadFile(s.trace)
	if err != nil {
		t.Fatal(err)
	}
	effects := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, want := range []string{"recovery/", "/sys/fs/cgroup/", "/workspace/"} {
		if !strings.Contains(string(data), want) {
			t.Fatalf("no durable effect on %s was counted:\n%s", want, data)
		}
	}
	return effects
}

// restart starts the product on what the killed server left, ends it, and requires that nothing is left.
func (s *site) restart() {
	s.t.Helper()
	died := s.lastEffect()
	c, err := s.start(s.product, 0)
	if err != nil {
		c.Close()
		s.t.Fatalf("killed at %s: the next start failed: %v\n%s", died, err, s.log())
	}
	if err := c.Close(); err != nil {
		s.t.Errorf("killed at %s: the next server ended with %v\n%s", died, err, s.log())
	}
	if err := s.leftovers(); err != nil {
		s.t.Errorf("killed at %s: left behind: %v\n%s", died, err, s.log())
	}
}

func (s *site) lastEffect() string {
	data, _ := os.ReadFile(s.trace)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return lines[len(lines)-1]
}

func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// proves A-TX-04, ST-17
func TestAKillDuringRecoveryIsRecoveredAsWell(t *testing.T) {
	all := undisturbed(t)
	k := slices.IndexFunc(all, func(effect string) bool { return strings.HasSuffix(effect, "/workspace/created.txt") }) + 1
	if k == 0 {
		t.Fatalf("no effect makes created.txt visible: %q", all)
	}
	s := newSite(t, script(edits))
	c, err := s.start(s.crashing, k)
	if err == nil {
		_, err = run(c)
	}
	if end := c.Close(); !killed(end) {
		t.Fatalf("the server ended with %v after %v", end, err)
	}
	deaths := 0
	for j := 1; ; j++ {
		c, err := s.start(s.crashing, j)
		if end := c.Close(); !killed(end) {
			if err != nil || end != nil {
				t.Fatalf("recovery after %d deaths: %v, %v\n%s", deaths, err, end, s.log())
			}
			break
		}
		deaths++
	}
	if deaths < 12 {
		t.Errorf("recovery died only %d times", deaths)
	}
	s.restart()
	if err := judgeFiles(s.workspace); err != nil {
		t.Error(err)
	}
}
