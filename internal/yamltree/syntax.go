package yamltree

import (
	"bytes"
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"
)

// syntaxProblem says in this program's words what the parser stopped at, for the mistakes that people make; the others keep
// the parser's words.
func syntaxProblem(file string, data []byte, err error) Problem {
	le := loadError(err)
	if le == nil {
		return Problem{Pos: Pos{File: file}, Text: T("yaml.syntax", "detail", err)}
	}
	s := source{file: file, lines: bytes.Split(data, []byte("\n"))}
	at := Pos{file, le.Mark.Line, le.Mark.Column}
	is := func(part string) bool { return strings.Contains(le.Message, part) }
	switch {
	case is("hexadecimal"), is("escape character"):
		return Problem{Pos: at, Text: T("yaml.syntax.escape"), Accepted: T("yaml.accepts.escape")}
	case is("end of stream") && strings.Contains(le.ContextMsg, "quoted"):
		return Problem{Pos: Pos{file, le.ContextMark.Line, le.ContextMark.Column}, Text: T("yaml.syntax.open_quote")}
	case is("tab character"), is("cannot start any token") && s.tab(at.Line) > 0:
		if c := s.tab(at.Line); c > 0 {
			at.Column = c
		}
		return Problem{Pos: at, Text: T("yaml.syntax.tab"), Accepted: T("yaml.accepts.spaces")}
	case is("cannot start any token"):
		return Problem{Pos: at, Text: T("yaml.syntax.character", "character", s.character(at)), Accepted: T("yaml.accepts.quotes")}
	case strings.Contains(le.ContextMsg, "flow"):
		return Problem{Pos: at, Text: T("yaml.syntax.bracket", "line", le.ContextMark.Line)}
	case is("unknown anchor"):
		return Problem{Pos: at, Text: T("yaml.alias", "name", strings.TrimPrefix(s.word(at), "*"))}
	}
	if line, column := s.openQuote(at); line > 0 {
		return Problem{Pos: Pos{file, line, column}, Text: T("yaml.syntax.open_quote")}
	}
	switch {
	case s.afterQuote(at):
		return Problem{Pos: at, Text: T("yaml.syntax.after_quote"), Accepted: T("yaml.accepts.quote_inside")}
	case is("mapping values are not allowed"):
		return Problem{Pos: at, Text: T("yaml.syntax.colon"), Accepted: T("yaml.accepts.colon")}
	case is("could not find expected ':'"):
		return Problem{Pos: Pos{file, max(1, le.ContextMark.Line), max(1, le.ContextMark.Column)}, Text: T("yaml.syntax.no_colon")}
	case is("did not find expected key"), is("'-' indicator"):
		return Problem{Pos: at, Text: T("yaml.syntax.indentation", "line", max(1, le.ContextMark.Line))}
	}
	detail := le.Message
	if le.ContextMsg != "" {
		detail += " (" + le.ContextMsg + ")"
	}
	return Problem{Pos: at, Text: T("yaml.syntax", "detail", detail)}
}

func loadError(err error) *yaml.LoadError {
	var le *yaml.LoadError
	if errors.As(err, &le) {
		return le
	}
	return nil
}

// source is the text around a mistake. Lines and columns count from 1, columns in characters.
type source struct {
	file  string
	lines [][]byte
}

func (s source) line(n int) []rune {
	if n < 1 || n > len(s.lines) {
		return nil
	}
	return []rune(strings.TrimSuffix(string(s.lines[n-1]), "\r"))
}

// tab is the column of a tab in the indentation of a line, or 0.
func (s source) tab(line int) int {
	for i, r := range s.line(line) {
		switch r {
		case '\t':
			return i + 1
		case ' ':
		default:
			return 0
		}
	}
	return 0
}

func (s source) character(at Pos) string {
	if l := s.line(at.Line); at.Column >= 1 && at.Column <= len(l) {
		return string(l[at.Column-1])
	}
	return "?"
}

func (s source) word(at Pos) string {
	l := s.line(at.Line)
	if at.Column < 1 || at.Column > len(l) {
		return ""
	}
	word, _, _ := strings.Cut(string(l[at.Column-1:]), " ")
	return word
}

// openQuote finds the last line before a mistake in which a quoted text begins and does not end: the parser took the lines
// after it for the text's continuation up to the next quote.
func (s source) openQuote(at Pos) (line, column int) {
	for n := min(at.Line-1, len(s.lines)); n >= 1; n-- {
		if c := unclosed(s.line(n)); c > 0 {
			return n, c
		}
	}
	return 0, 0
}

// unclosed is the column of a quote that begins a value of a line and is not closed in it, or 0.
func unclosed(line []rune) int {
	var quote rune
	column := 0
	begins := true // a quote can begin a text here
	for i := 0; i < len(line); i++ {
		r := line[i]
		switch {
		case quote == '"' && r == '\\':
			i++
		case quote != 0 && r == quote:
			quote, begins = 0, false
		case quote != 0:
		case r == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return 0
		case begins && (r == '"' || r == '\''):
			quote, column = r, i+1
		case r == ' ' || r == '\t':
		default:
			begins = strings.ContainsRune("-:,[{", r)
		}
	}
	if quote == 0 {
		return 0
	}
	return column
}

// afterQuote reports whether a quoted text ends in the line before the mistake.
func (s source) afterQuote(at Pos) bool {
	l := s.line(at.Line)
	before := strings.TrimRight(string(l[:min(max(0, at.Column-1), len(l))]), " ")
	return strings.Count(before, `"`) >= 2 || strings.Count(before, "'") >= 2
}
