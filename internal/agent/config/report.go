package config

import (
	"fmt"
	"io"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/visible"
	"sekisho/internal/yamltree"
)

// Write prints every warning and every error, one block each: place, key, what is wrong, and below it what would do.
func (p Problems) Write(w io.Writer, c *locale.Catalogue) error {
	var b strings.Builder
	for _, x := range p.Warnings {
		writeProblem(&b, c, x, c.Text("config.report.warning", nil))
	}
	for _, x := range p.Errors {
		writeProblem(&b, c, x, c.Text("config.report.error", nil))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeProblem(b *strings.Builder, c *locale.Catalogue, p yamltree.Problem, severity string) {
	place := visible.Escape(p.Pos.File)
	if p.Pos.Line > 0 {
		place += fmt.Sprintf(":%d:%d", p.Pos.Line, p.Pos.Column)
	}
	b.WriteString(place + ": " + severity)
	if p.Path != "" {
		b.WriteString(visible.Escape(p.Path) + ": ")
	}
	b.WriteString(c.Text(p.Text.Key, p.Text.Args) + "\n")
	switch {
	case p.Nearest != "":
		b.WriteString("    " + c.Text("config.report.nearest", map[string]string{"key": p.Nearest}) + "\n")
	case p.Accepted.Key != "":
		b.WriteString("    " + c.Text(p.Accepted.Key, p.Accepted.Args) + "\n")
	}
}

// WriteError prints a failure for a person: the sentence, what to do, and the stable code.
func WriteError(w io.Writer, c *locale.Catalogue, err error) error {
	f := fault.As(err)
	if f == nil {
		_, werr := fmt.Fprintln(w, visible.Escape(err.Error()))
		return werr
	}
	sentence, remedy := c.Error(f)
	_, werr := fmt.Fprintf(w, "%s\n%s\n[%s]\n", sentence, remedy, f.Code)
	return werr
}
