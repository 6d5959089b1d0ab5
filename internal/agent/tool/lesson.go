package tool

import (
	"path"
	"slices"
	"strings"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
)

// Bounds of the hints on a program's output.
const (
	maxHints  = 3
	hintBytes = 16 << 10 // of each stream's end
)

// refusals are the kernel's and the C library's words for what the sandbox refuses, in the language that programs inside
// speak. network tells which are about connections.
var refusals = []struct {
	words   string
	network bool
}{
	{"Read-only file system", false}, {"Permission denied", false}, {"Operation not permitted", false}, {"Device or resource busy", false},
	{"Invalid cross-device link", false}, {"EROFS", false}, {"EACCES", false}, {"EPERM", false}, {"EBUSY", false}, {"EXDEV", false},
	{"Network is unreachable", true}, {"Could not resolve", true}, {"Temporary failure in name resolution", true}, {"Name or service not known", true},
	{"Connection refused", true}, {"ENETUNREACH", true}, {"ENOTFOUND", true}, {"EAI_AGAIN", true}, {"ECONNREFUSED", true}, {"no such host", true},
}

// hints explains, after a program failed, which rules of the sandbox its words may be about (A-SBX-10). The words are
// the program's and believed in nothing: what is said comes from the policy and the paths that the program named.
func (d *Dispatcher) hints(s Scope, cwd string, stdout, stderr *output) string {
	var said []string
	say := func(text string) {
		if len(said) < maxHints && !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	for _, text := range []string{stderr.text(), stdout.text()} {
		for line := range strings.Lines(text[max(0, len(text)-hintBytes):]) {
			for _, r := range refusals {
				if !strings.Contains(line, r.words) {
					continue
				}
				if r.network {
					say("connections: " + policy.TeachNetwork(d.deps.Policy.Network).String())
				} else if text := d.aboutPaths(s, cwd, line); text != "" {
					say(text)
				}
				break
			}
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "\nthe sandbox's rules that this may be about:\n- " + strings.Join(said, "\n- ")
}

// aboutPaths explains the first path of a line that may not be written.
func (d *Dispatcher) aboutPaths(s Scope, cwd, line string) string {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`:,;()[]<>=‘’“”", r) })
	for _, w := range words {
		if len(w) > 1024 {
			continue
		}
		p := w
		if !path.IsAbs(p) {
			p = path.Join(cwd, p)
		}
		p = path.Clean(p)
		if passage(s.Guards, p) {
			return valid(w) + ": rule: a directory on the way to what tools run later is neither renamed nor removed; origin: sandbox.allow_tool_config_writes is false; nearest allowed: what lies in it"
		}
		if !strings.ContainsAny(w, "/.") {
			continue // any word could be a name
		}
		for _, want := range []sandbox.Rights{sandbox.Read, sandbox.Write, sandbox.Delete} {
			decision := policy.Decide(d.deps.Policy, policy.Request{Kind: policy.Filesystem, Path: p, Want: want, Guards: s.Guards})
			if !decision.Allow {
				return valid(w) + " (" + want.String() + "): " + policy.Teach(d.deps.Policy, decision.Reason, p, want, s.Guards).String()
			}
		}
	}
	return ""
}

func passage(guards []sandbox.Guard, p string) bool {
	return slices.ContainsFunc(guards, func(g sandbox.Guard) bool { return g.Path == p && g.Reason == sandbox.GuardPassage })
}
