package config

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sekisho/internal/agent/config/applied"
	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/visible"
)

// Show prints what is declared, what it resolves to and what is applied, as a matrix with origins and hashes (A-CLI-03). It
// changes nothing. Load has reported no error; p are the problems of Resolve, whose rows then say that they could not be
// resolved. A corrupt snapshot is shown as its error and returned; a missing one is no error.
func Show(w io.Writer, l *Loaded, r *Resolved, p Problems, store *applied.Store) error {
	stored, err := store.Read(l.Places.Config)
	v := view{l: l, c: l.Locale, now: r, valid: len(p.Errors) == 0}
	if err == nil {
		v.applied = &stored
		v.appliedPolicy = compileApplied(stored, r.osRuntime)
	}
	v.head(err)
	v.declared()
	v.roots()
	v.entries()
	v.network()
	v.resources()
	v.environment()
	if v.valid { // with errors they are what matters
		v.baseline()
	}
	if _, werr := io.WriteString(w, v.b.String()); werr != nil {
		return fmt.Errorf("showing permissions: %w", werr)
	}
	if f := fault.As(err); f != nil && f.Variant != "" {
		return err
	}
	return nil
}

// compileApplied is the policy that the applied snapshot means on this system, or nil when it no longer compiles.
func compileApplied(s applied.Snapshot, osRuntime []policy.Directory) *sandbox.EffectivePolicy {
	p, err := policy.Compile(s.Declared(osRuntime))
	if err != nil {
		return nil
	}
	return &p
}

type view struct {
	l             *Loaded
	c             *locale.Catalogue
	now           *Resolved
	valid         bool // now.Policy can be used
	applied       *applied.Snapshot
	appliedPolicy *sandbox.EffectivePolicy
	b             strings.Builder
}

func (v *view) text(key string, args ...any) string {
	m := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		m[fmt.Sprint(args[i])] = fmt.Sprint(args[i+1])
	}
	return v.c.Text(key, m)
}

// section prints a heading and an aligned table; without rows it says that there is nothing.
func (v *view) section(heading string, columns []string, rows [][]string) {
	v.b.WriteString("\n" + v.text(heading) + "\n")
	if len(rows) == 0 {
		nothing := "show.nothing"
		if !v.valid {
			nothing = "show.unknown"
		}
		v.b.WriteString("  " + v.text(nothing) + "\n")
		return
	}
	if columns != nil {
		head := make([]string, 0, len(columns))
		for _, c := range columns {
			head = append(head, v.text(c))
		}
		rows = append([][]string{head}, rows...)
	}
	v.b.WriteString(table("  ", rows))
}

func (v *view) head(readErr error) {
	rows := [][]string{}
	for i, f := range v.l.Files {
		key := "show.config"
		if i > 0 {
			key = "show.overlay"
		}
		rows = append(rows, []string{v.text(key), visible.Escape(f)})
	}
	rows = append(rows, []string{v.text("show.profile"), v.l.Config.Sandbox.Profile}, []string{v.text("show.fingerprint"), v.l.Fingerprint},
		[]string{v.text("show.state"), v.state(readErr)})
	if v.valid && !corrupt(readErr) && (v.applied == nil || len(applied.Diff(*v.applied, v.now.Snapshot)) > 0) {
		rows = append(rows, []string{v.text("show.command"), visible.Escape(v.l.Places.command("apply", v.l.Places.Config))})
	}
	v.b.WriteString(table("", rows))
}

func corrupt(err error) bool {
	return errors.Is(err, fault.New(fault.ConfigurationAbsent, fault.Variant("corrupt")))
}

func (v *view) state(readErr error) string {
	switch {
	case corrupt(readErr):
		return v.text("show.state.corrupt", "path", fault.As(readErr).Target)
	case !v.valid:
		return v.text("show.state.invalid")
	case v.applied == nil:
		return v.text("show.state.none")
	}
	if n := len(applied.Diff(*v.applied, v.now.Snapshot)); n > 0 {
		return v.text("show.state.differs", "count", n)
	}
	return v.text("show.state.applied")
}

// mark is the word of the applied column.
func (v *view) mark(has, same bool) string {
	switch {
	case !has:
		return v.text("show.applied.no")
	case !same:
		return v.text("show.applied.differs")
	}
	return v.text("show.applied.yes")
}

// declaredRow is one declared directory; resolved is "" when it could not be resolved.
type declaredRow struct{ kind, written, resolved, applied string }

func (v *view) declared() {
	var rows [][]string
	for _, d := range v.declaredRows() {
		resolved := d.resolved
		if resolved == "" {
			resolved = v.text("show.unresolved")
		}
		rows = append(rows, []string{d.applied, d.kind, visible.Escape(d.written), "→ " + visible.Escape(resolved)})
	}
	v.section("show.declared", []string{"show.column.applied", "show.column.kind", "show.column.written", "show.column.resolved"}, rows)
}

func (v *view) declaredRows() []declaredRow {
	var rows []declaredRow
	now, old := resolvedDirectories(v.now.Snapshot), []declaredDirectory(nil)
	if v.applied != nil {
		old = resolvedDirectories(*v.applied)
	}
	find := func(in []declaredDirectory, kind, logical string) *declaredDirectory {
		i := slices.IndexFunc(in, func(d declaredDirectory) bool { return d.kind == kind && d.Logical == logical })
		if i < 0 {
			return nil
		}
		return &in[i]
	}
	for _, d := range v.l.Config.Sandbox.directories() {
		row := declaredRow{kind: d.kind, written: d.Logical}
		n, o := find(now, d.kind, d.Logical), find(old, d.kind, d.Logical)
		if n != nil {
			row.resolved = n.Resolved
		}
		row.applied = v.mark(o != nil, n != nil && o != nil && n.Resolution == o.Resolution)
		rows = append(rows, row)
	}
	for _, o := range old {
		if find(v.l.Config.Sandbox.directories(), o.kind, o.Logical) == nil {
			rows = append(rows, declaredRow{o.kind, o.Logical, o.Resolved, v.text("show.applied.removed")})
		}
	}
	return rows
}

// declaredDirectory is a directory with the key that declares it, and a mount's access.
type declaredDirectory struct {
	applied.Resolution
	kind string
}

func resolvedDirectories(s applied.Snapshot) []declaredDirectory {
	var out []declaredDirectory
	for _, w := range s.Workspaces {
		out = append(out, declaredDirectory{w, "workspace"})
	}
	for _, m := range s.Mounts {
		out = append(out, declaredDirectory{m.Resolution, "mount (" + m.Access + ")"})
	}
	return out
}

func (s Sandbox) directories() []declaredDirectory {
	var out []declaredDirectory
	for _, w := range s.Workspaces {
		out = append(out, declaredDirectory{applied.Resolution{Logical: w.Logical}, "workspace"})
	}
	for _, m := range s.Mounts {
		out = append(out, declaredDirectory{applied.Resolution{Logical: m.Logical}, "mount (" + m.Access + ")"})
	}
	return out
}
