package resolve

import (
	"bytes"
	"path"
	"strings"

	"sekisho/internal/fault"
)

// MaxLine is the number of bytes that the kernel reads of an interpreter line, with "#!" and the newline.
const MaxLine = 256

// utf8Mark is the byte order mark that some editors put before a text; the kernel does not know it.
const utf8Mark = "\xef\xbb\xbf"

// interpreterLine is a script's first line, understood.
type interpreterLine struct {
	// name is an absolute path, or with lookup a name to be looked for in PATH.
	name   string
	lookup bool
	args   []string
}

// badLine says in a variant of executable.script_invalid what is wrong with a line.
func badLine(variant, shown string) *fault.Error {
	return fault.New(fault.ExecutableScriptInvalid, fault.Variant(variant), fault.Arg("line", shown))
}

// parseLine reads the first bytes of a file (at most MaxLine are looked at). script is false for a file that the kernel does
// not take for a script, which is one reason more for an error: a "#!" behind a byte order mark.
//
// The kernel's rules: blanks around the interpreter are skipped, everything after it is one argument. /usr/bin/env is not
// run but understood: one name, or after -S plain words. What only env itself could do (options, assignments, quotes,
// escapes, variables) is refused, because nobody could say at apply what would run.
func parseLine(head []byte) (l interpreterLine, script bool, err error) {
	head = head[:min(len(head), MaxLine)]
	if bytes.HasPrefix(head, []byte(utf8Mark+"#!")) {
		return l, true, badLine("bom", "#!")
	}
	rest, script := bytes.CutPrefix(head, []byte("#!"))
	if !script {
		return l, false, nil
	}
	text, _, ended := bytes.Cut(rest, []byte("\n"))
	if !ended && len(head) == MaxLine {
		return l, true, badLine("too_long", shown(text))
	}
	line := strings.Trim(string(text), " \t")
	switch {
	case strings.ContainsRune(line, '\r'):
		return l, true, badLine("crlf", shown(text))
	case line == "" || strings.ContainsRune(line, 0):
		return l, true, badLine("", shown(text))
	}
	l.name = line
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		l.name, l.args = line[:i], []string{strings.Trim(line[i:], " \t")}
	}
	if !path.IsAbs(l.name) {
		return l, true, badLine("relative", shown(text))
	}
	if path.Base(l.name) == "env" {
		l, err = throughEnv(l, shown(text))
	}
	return l, true, err
}

// throughEnv understands what env would do with the one argument that the kernel gives it.
func throughEnv(l interpreterLine, line string) (interpreterLine, error) {
	if len(l.args) == 0 {
		return l, badLine("env", line)
	}
	arg, split := strings.CutPrefix(l.args[0], "-S")
	words := strings.Fields(arg)
	if !split && len(words) != 1 { // env would look for a program with a blank in its name
		return l, badLine("env", line)
	}
	if len(words) == 0 || strings.ContainsAny(arg, "\"'\\$#") || strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=") {
		return l, badLine("env", line)
	}
	name := words[0]
	if strings.Contains(name, "/") && !path.IsAbs(name) {
		return l, badLine("relative", line)
	}
	return interpreterLine{name: name, lookup: !path.IsAbs(name), args: words[1:]}, nil
}

// shown is a line as an error may show it.
func shown(line []byte) string {
	return strings.ToValidUTF8(string(line[:min(len(line), 120)]), "\uFFFD")
}
