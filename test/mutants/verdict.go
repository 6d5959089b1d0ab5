//go:build linux

package main

import (
	"regexp"
	"strings"
)

// verdict is what a test's output says about one top-level test.
type verdict struct {
	killed bool
	says   string // the assertion that failed, or why nothing was noticed
}

var (
	// crash begins the line of a program that ended by itself. A panic shows that something is broken, not what a user loses.
	crash    = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*|SIG[A-Z]+: .*)$`)
	resultOf = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+) \(`)
	onto     = regexp.MustCompile(`^=== (?:RUN|NAME|CONT|PAUSE)\s+(\S*)`)
	asserted = regexp.MustCompile(`^\s+\S+\.go:\d+: .*\S`)
)

// judge reads the output of -test.v=test2json. Killed means that the test, or one of its parts, failed by an assertion with a
// message: no crash, no end of time.
func judge(out, test string, late bool) verdict {
	said := map[string][]string{} // the last message of each test is the one that it failed with
	open := false                 // whether the line before belongs to a message, which may go on
	results := map[string]string{}
	var failed []string
	current := ""
	for line := range strings.Lines(strings.ReplaceAll(out, "\x16", "\n")) {
		line = strings.TrimRight(line, "\n")
		goesOn := open && strings.HasPrefix(line, "        ")
		open = false
		if m := onto.FindStringSubmatch(line); m != nil {
			current = m[1]
		} else if m := resultOf.FindStringSubmatch(line); m != nil {
			if results[m[2]] != "FAIL" { // a test that runs twice, for two users, must pass twice
				results[m[2]] = m[1]
			}
			if m[1] == "FAIL" {
				failed = append(failed, m[2])
			}
			current = m[2]
		} else if m := asserted.FindStringSubmatch(line); m != nil {
			said[current], open = append(said[current], strings.TrimSpace(line)), true
		} else if all := said[current]; goesOn {
			all[len(all)-1], open = all[len(all)-1]+" "+strings.TrimSpace(line), true
		}
	}
	ended := crash.FindString(out)
	switch {
	case late || strings.Contains(ended, "test timed out"):
		return verdict{says: test + " hangs; a test that is ended from outside has noticed nothing\n" + tail(out)}
	case ended != "":
		return verdict{says: test + " crashes instead of failing: " + ended + "\n" + tail(out)}
	case results[test] == "PASS":
		return verdict{says: survived(test)}
	case results[test] != "FAIL":
		return verdict{says: test + " did not run: " + results[test] + "\n" + tail(out)}
	}
	for _, name := range failed { // parts end before the whole
		if own := said[name]; len(own) > 0 && (name == test || strings.HasPrefix(name, test+"/")) {
			return verdict{killed: true, says: brief(own[len(own)-1])}
		}
	}
	return verdict{says: test + " fails without a message\n" + tail(out)}
}

// survived is what is said of a test that passes.
func survived(test string) string { return "survived: " + test + " does not notice" }

// brief cuts what a person wants to read in a list.
func brief(s string) string {
	const most = 240
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
