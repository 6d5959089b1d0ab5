package runtime

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"sekisho/internal/agent"
	"sekisho/internal/agent/planner"
	"sekisho/internal/fault"
	"sekisho/internal/strictjson"
)

// failedCall is a failed tool call until it is made up for. Three things can become of it (A-TOOL-08, ADR 14):
//
//   - made up for, and forgotten: the same object has succeeded later. The object of a file tool is its path; a failed
//     change needs a change. That of process_run is executable, arguments, working directory and standard input.
//   - gone around, and shown with the completed task: the same tool has succeeded later on something else. When a program
//     ran and failed, that must be the same program about the same thing, see related.
//   - open: neither. The planner task is not finished, whatever the model says.
type failedCall struct {
	fingerprint
	text     string // localized
	sentence string // the part of text that says what happened
	what     string // names the call for the model
	path     string // object of a file tool
	command  command
	none     bool // the arguments were refused: nothing was tried on any object, so any success of the tool will do
	change   bool // the call would have changed something
	around   bool
}

// command is the object of process_run.
type command struct {
	executable, args, cwd, stdin string
	words                        map[string]bool
}

func newFailedCall(base string, call agent.ToolCall, r agent.ToolResult) failedCall {
	a := arguments(call)
	f := failedCall{fingerprint: fingerprintOf(call, r.ErrorCode), text: r.UserText, sentence: r.Happened, change: planner.SideEffect(call.Name, a.Operation)}
	switch {
	case r.ErrorCode == fault.ToolArgumentsInvalid && r.TargetPath == "":
		f.none, f.what = true, call.Name
	case call.Name == agent.ToolProcessRun:
		f.command, f.what = commandOf(base, a), fmt.Sprintf("%s of %q", call.Name, program(call))
	default:
		f.path = absolute(base, a.object())
		f.what = fmt.Sprintf("%s of %q", call.Name, f.path)
	}
	return f
}

// answered returns the failures that are left after a success: without those it makes up for, and with those marked that
// it goes around.
func answered(base string, failures []failedCall, call agent.ToolCall, r agent.ToolResult) []failedCall {
	a := arguments(call)
	paths := append([]string{a.object(), a.NewPath}, r.Changed...)
	for i, p := range paths {
		paths[i] = absolute(base, p)
	}
	var left []failedCall
	for _, f := range failures {
		same := f.tool == call.Name && (!f.change || r.SideEffect)
		switch {
		case f.none:
			if same {
				continue
			}
		case f.tool != agent.ToolProcessRun:
			if call.Name != agent.ToolProcessRun && slices.Contains(paths, f.path) && (!f.change || r.SideEffect) {
				continue
			}
			f.around = f.around || same
		case call.Name == agent.ToolProcessRun:
			c := commandOf(base, a)
			if f.command.equal(c) {
				continue
			}
			f.around = f.around || f.code != fault.ToolFailed || f.command.related(c)
		}
		left = append(left, f)
	}
	return left
}

// absolute makes two spellings of a path without links equal; the tools let a relative one start at base.
func absolute(base, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(base, p)
}

func commandOf(base string, a callArguments) command {
	args, err := strictjson.Marshal(a.Args)
	if err != nil {
		panic("runtime: encoding strings: " + err.Error())
	}
	return command{executable: a.Executable, args: string(args), cwd: absolute(base, a.Cwd), stdin: a.Stdin, words: words(a.Args)}
}

func (c command) equal(o command) bool {
	return c.executable == o.executable && c.args == o.args && c.cwd == o.cwd && c.stdin == o.stdin
}

// related reports whether o may be c with its mistakes corrected: the same program with the same arguments in another
// directory, or with a word of its arguments in common, such as a subcommand or a file. A passing `go version` says nothing
// about a failing `go test`, nor `sh -c :` about `sh ./test.sh`. This cannot tell a correction from an evasion that repeats
// a word, which is why such a failure stays shown.
func (c command) related(o command) bool {
	if c.executable != o.executable {
		return false
	}
	if c.args == o.args && c.stdin == o.stdin {
		return true
	}
	for w := range c.words {
		if o.words[w] {
			return true
		}
	}
	return false
}

// words are the last path elements of what the arguments name. Options and numbers say how something is done, not on what.
func words(args []string) map[string]bool {
	found := map[string]bool{}
	for _, arg := range args {
		for _, w := range strings.FieldsFunc(arg, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`;&|<>()$'"=,`+"`", r) }) {
			if w = path.Base(w); !strings.HasPrefix(w, "-") && strings.ContainsFunc(w, unicode.IsLetter) {
				found[w] = true
			}
		}
	}
	return found
}

// callArguments are the members that this package looks at.
type callArguments struct {
	Path       string   `json:"path"`
	NewPath    string   `json:"new_path"`
	Root       string   `json:"root"`
	Operation  string   `json:"operation"`
	Executable string   `json:"executable"`
	Args       []string `json:"args"`
	Cwd        string   `json:"cwd"`
	Stdin      string   `json:"stdin"`
}

// object is the path that a file tool is asked about.
func (a callArguments) object() string {
	if a.Path != "" {
		return a.Path
	}
	return a.Root
}

// arguments reads the members that this package looks at; a call that does not validate yields empty ones.
func arguments(call agent.ToolCall) callArguments {
	var a callArguments
	if err := strictjson.UnmarshalOpen(call.Arguments, len(call.Arguments), &a); err != nil {
		return callArguments{}
	}
	return a
}

// program names what a process_run ran: the executable, and its subcommand if the first argument looks like one.
func program(call agent.ToolCall) string {
	if call.Name != agent.ToolProcessRun {
		return ""
	}
	a := arguments(call)
	if len(a.Args) > 0 && isWord(a.Args[0]) {
		return a.Executable + " " + a.Args[0]
	}
	return a.Executable
}

func isWord(s string) bool {
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == ':')
	})
}
