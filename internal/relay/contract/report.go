package contract

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/locale"
	"sekisho/internal/relay/locate"
	"sekisho/internal/visible"
)

// Exit codes of `relaycodex contract` (R-CLI-01).
const (
	ExitNotAffected = 0
	ExitAffected    = 1
	ExitUnknown     = 2
)

// Command is `relaycodex contract [--codex PATH]`.
type Command struct {
	// Codex is the value of --codex; empty searches PATH.
	Codex          string
	Texts          *locale.Catalogue
	Stdout, Stderr io.Writer
}

// Run judges the CLI, prints the report and returns the exit code. What keeps it from telling goes to Stderr.
func (o Command) Run(ctx context.Context) int {
	report, err := o.judge(ctx)
	if err != nil {
		o.complain(err)
		return ExitUnknown
	}
	if err := report.Write(o.Stdout, o.Texts); err != nil {
		o.complain(err)
		return ExitUnknown
	}
	if report.Affected() {
		return ExitAffected
	}
	return ExitNotAffected
}

func (o Command) judge(ctx context.Context) (*Report, error) {
	manifest, err := Load()
	if err != nil {
		return nil, err
	}
	root, err := CacheRoot()
	if err != nil {
		return nil, err
	}
	return OpenCache(fileop.OS(), root, manifest).Judge(ctx, locate.Options{Path: o.Codex})
}

func (o Command) complain(err error) {
	e := fault.As(err)
	if e == nil {
		e = fault.New(fault.ContractFailed, fault.Target("codex"), fault.Arg("reason", err.Error()), fault.Cause(err))
	}
	sentence, remedy := o.Texts.Error(e)
	fmt.Fprintf(o.Stderr, "%s\n%s\n", sentence, remedy)
}

// Write prints the report; what is affected and the verdict come last. Names and values come from the judged program and are escaped.
func (r *Report) Write(w io.Writer, texts *locale.Catalogue) error {
	var b strings.Builder
	line := func(key string, args map[string]string) { b.WriteString(texts.Text(key, args) + "\n") }
	line("contract.heading", map[string]string{"version": r.Version, "path": r.Binary, "pinned": r.Against})
	same := map[bool]int{}
	for _, m := range r.Methods {
		if m.State == Same && !m.Affected {
			same[m.Used]++
			continue
		}
		if !m.Affected {
			writeMethod(&b, m, texts)
		}
	}
	line("contract.same", map[string]string{"used": strconv.Itoa(same[true]), "unused": strconv.Itoa(same[false])})
	if !r.Detailed {
		line("contract.no_details", map[string]string{"pinned": r.Against})
	} else if len(r.Changes) > 0 {
		line("contract.changes", map[string]string{"count": strconv.Itoa(len(r.Changes))})
		for _, c := range r.Changes {
			b.WriteString("  " + visible.Line(c, 400) + "\n")
		}
	}
	for _, m := range r.Methods {
		if m.Affected {
			writeMethod(&b, m, texts)
		}
	}
	verdict := "contract.not_affected"
	if r.Affected() {
		verdict = "contract.affected"
	}
	line(verdict, map[string]string{"version": r.Version})
	_, err := io.WriteString(w, b.String())
	return err
}

func writeMethod(b *strings.Builder, m MethodReport, texts *locale.Catalogue) {
	relevance := "contract.unused"
	switch {
	case m.Affected:
		relevance = "contract.used_affected"
	case m.Used:
		relevance = "contract.used"
	case m.State == Added && m.Direction == ServerRequest:
		relevance = "contract.refused"
	}
	fmt.Fprintf(b, "%s  %s %s: %s\n", texts.Text("contract.state."+string(m.State), nil), m.Direction, visible.Line(m.Method, 120), texts.Text(relevance, nil))
	for _, p := range m.Problems {
		fmt.Fprintf(b, "    %s %s\n", visible.Line(p.At, 200), texts.Text("contract.fit."+p.What, map[string]string{"value": p.Value}))
	}
}
