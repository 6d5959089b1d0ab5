//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The judge must be able to say no: each way in which a run can be wrong is one message.
func TestProblems(t *testing.T) {
	ok := func(set, scenario, id, status string) check {
		return check{key: key{set, scenario, id}, CheckID: id, Status: status}
	}
	var sound []check
	for set, scenarios := range floor {
		for scenario, n := range scenarios {
			for range n {
				sound = append(sound, ok(set, scenario, "id", success))
			}
		}
	}
	skipped := regexp.MustCompile(`^(?:SKIPPED: )$`)
	expected := map[key]*regexp.Regexp{{"2025-11-25", "ping", "gone"}: skipped}
	sound = append(sound, ok("2025-11-25", "ping", "ping", "INFO"), ok("2025-11-25", "ping", "gone", "SKIPPED"))
	if found := problems(sound, expected); len(found) > 0 {
		t.Fatal("the sound run:", found)
	}
	for want, c := range map[string]struct {
		results  []check
		expected map[key]*regexp.Regexp
	}{
		"is not listed and did not succeed": {append(sound[:len(sound):len(sound)], ok("2025-11-25", "new", "x", "FAILURE")), expected},
		"did not succeed: SKIPPED":          {append(sound[:len(sound):len(sound)], ok("2025-11-25", "new", "x", "SKIPPED")), expected},
		"did not succeed: WARNING":          {append(sound[:len(sound):len(sound)], ok("2025-11-25", "new", "x", "WARNING")), expected},
		"fails in another way: FAILURE":     {append(sound[:len(sound):len(sound)], ok("2025-11-25", "ping", "gone", "FAILURE")), expected},
		"belongs to the floor":              {append(sound[:len(sound):len(sound)], ok("tasks", "tasks-lifecycle", "x", "FAILURE")), expected},
		"is listed and belongs to the floor": {append(sound[:len(sound):len(sound)], ok("tasks", "tasks-lifecycle", "x", "FAILURE")),
			map[key]*regexp.Regexp{{"tasks", "tasks-lifecycle", "x"}: skipped, {"2025-11-25", "ping", "gone"}: skipped}},
		"is listed and succeeds":       {append(sound[:len(sound):len(sound)], ok("2025-11-25", "new", "x", success)), map[key]*regexp.Regexp{{"2025-11-25", "new", "x"}: skipped, {"2025-11-25", "ping", "gone"}: skipped}},
		"is listed and does not occur": {sound, map[key]*regexp.Regexp{{"2025-11-25", "new", "x"}: skipped, {"2025-11-25", "ping", "gone"}: skipped}},
		"the floor is":                 {nil, nil},
	} {
		if found := strings.Join(problems(c.results, c.expected), "\n"); !strings.Contains(found, want) {
			t.Errorf("nobody says %q: %s", want, found)
		}
	}
}

func TestExpectedFailuresAreReadStrictly(t *testing.T) {
	if list, err := loadExpected("expected-failures.yaml"); err != nil || len(list) < 50 {
		t.Errorf("%d, %v", len(list), err)
	}
	for name, text := range map[string]string{
		"no reason":      `[{says: s, checks: {"2025-11-25": [a/b]}}]`,
		"no message":     `[{reason: r, checks: {"2025-11-25": [a/b]}}]`,
		"no expression":  `[{reason: r, says: "(", checks: {"2025-11-25": [a/b]}}]`,
		"no checks":      `[{reason: r, says: s}]`,
		"unknown set":    `[{reason: r, says: s, checks: {"2020-01-01": [a/b]}}]`,
		"unknown member": `[{reason: r, says: s, x: 1, checks: {"2025-11-25": [a/b]}}]`,
		"no check":       `[{reason: r, says: s, checks: {"2025-11-25": [a]}}]`,
		"twice":          `[{reason: r, says: s, checks: {"2025-11-25": [a/b]}}, {reason: s, says: s, checks: {"2025-11-25": [a/b]}}]`,
	} {
		path := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadExpected(path); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
