//go:build linux

package main

import (
	"strings"
	"testing"
)

// Only an assertion of the named test itself counts.
func TestVerdicts(t *testing.T) {
	const fail = "\x16=== RUN   TestX\n    x_test.go:7: a note\n    x_test.go:9: want 1,\n        got 2\n\x16--- FAIL: TestX (0.00s)\nFAIL\n"
	for name, c := range map[string]struct {
		out    string
		late   bool
		killed bool
		says   string
	}{
		"an assertion":             {fail, false, true, "x_test.go:9: want 1, got 2"},
		"an assertion of a part":   {"\x16=== RUN   TestX\n\x16=== RUN   TestX/a\n    x_test.go:9: gone\n    \x16--- FAIL: TestX/a (0.00s)\n\x16--- FAIL: TestX (0.00s)\n", false, true, "x_test.go:9: gone"},
		"no message":               {"\x16=== RUN   TestX\n\x16--- FAIL: TestX (0.00s)\nFAIL\n", false, false, "without a message"},
		"an empty message":         {"\x16=== RUN   TestX\n    x_test.go:9: \n\x16--- FAIL: TestX (0.00s)\nFAIL\n", false, false, "without a message"},
		"another test":             {"\x16=== RUN   TestXY\n    x_test.go:9: gone\n\x16--- FAIL: TestXY (0.00s)\n\x16=== RUN   TestX\n\x16--- PASS: TestX (0.00s)\n", false, false, "does not notice"},
		"a pass":                   {"\x16=== RUN   TestX\n    x_test.go:7: a note\n\x16--- PASS: TestX (0.00s)\nPASS\n", false, false, "does not notice"},
		"a skip":                   {"\x16=== RUN   TestX\n    x_test.go:7: not here\n\x16--- SKIP: TestX (0.00s)\nPASS\n", false, false, "did not run: SKIP"},
		"nothing":                  {"testing: warning: no tests to run\nPASS\n", false, false, "did not run"},
		"a panic":                  {fail + "panic: runtime error [recovered]\n\ngoroutine 7 [running]:\n", false, false, "crashes instead of failing: panic: runtime error"},
		"a runtime's end":          {fail + "fatal error: all goroutines are asleep - deadlock!\n", false, false, "crashes"},
		"its own time limit":       {fail + "panic: test timed out after 1m30s\n", false, false, "hangs"},
		"ended from outside":       {fail, true, false, "hangs"},
		"fails for the other user": {"\x16=== RUN   TestX\n\x16--- PASS: TestX (0.00s)\nPASS\n\x16=== RUN   TestX\n    x_test.go:9: seen\n\x16--- FAIL: TestX (0.00s)\n", false, true, "seen"},
		"passes for the other":     {fail + "\x16=== RUN   TestX\n\x16--- PASS: TestX (0.00s)\nPASS\n", false, true, "want 1"},
		"a word glued to output":   {"some output\x16=== RUN   TestX\n    x_test.go:9: seen\nmore\x16--- FAIL: TestX (0.00s)\n", false, true, "seen"},
	} {
		t.Run(name, func(t *testing.T) {
			if v := judge(c.out, "TestX", c.late); v.killed != c.killed || !strings.Contains(v.says, c.says) {
				t.Errorf("killed %t, says %q; want %t, %q", v.killed, v.says, c.killed, c.says)
			}
		})
	}
}
