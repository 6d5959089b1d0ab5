package tool

import (
	"context"
	"fmt"
	"strings"

	"sekisho/internal/agent"
	"sekisho/internal/agent/tool/charset"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// listEntries is how many entries of one directory are listed.
const listEntries = 2000

type dirHeader struct {
	OK       bool     `json:"ok"`
	Path     string   `json:"path"`
	Entries  *int     `json:"entries,omitzero"`
	Complete *bool    `json:"complete,omitzero"`
	Created  []string `json:"created,omitempty"`
	Note     string   `json:"note,omitzero"`
}

func (d *Dispatcher) prepareDir(ctx context.Context, s Scope, call agent.ToolCall, args any) step {
	a := args.(dirArgs)
	want, rights := rootio.Existing, sandbox.Read
	switch a.operation {
	case "mkdir":
		want, rights = rootio.MayCreateParents, sandbox.Write
	case "rmdir":
		rights = sandbox.Delete
	}
	t, refused := d.resolve(s, a.path, want, rights)
	if refused != nil {
		return step{refused: refused}
	}
	run := func(ctx context.Context) outcome {
		switch a.operation {
		case "mkdir":
			return d.mkdir(ctx, s, call, a, t)
		case "rmdir":
			return d.rmdir(ctx, s, call, a, t)
		}
		return d.list(a, t)
	}
	return step{close: t.Close, run: run}
}

// list gives the direct entries: one line each with kind, size of a file, and name.
func (d *Dispatcher) list(a dirArgs, t *rootio.Target) outcome {
	if t.Info().Kind != rootio.Dir {
		return failure("not_directory", a.path, "the path is a file, not a directory")
	}
	entries, more, err := t.List(listEntries)
	if err != nil {
		return d.readFailure(a.path, err)
	}
	var b strings.Builder
	for i, e := range entries {
		if i > 0 {
			b.WriteByte('\n')
		}
		name := charset.OneLine(e.Name)
		switch e.Info.Kind {
		case rootio.File:
			fmt.Fprintf(&b, "file %d %s", e.Info.Size, name)
		case rootio.Dir:
			fmt.Fprintf(&b, "dir - %s/", name)
		default:
			fmt.Fprintf(&b, "%s - %s", strings.ReplaceAll(e.Type, " file", ""), name)
		}
	}
	n, complete := len(entries), !more
	h := dirHeader{OK: true, Path: valid(t.Path()), Entries: &n, Complete: &complete}
	if more {
		h.Note = fmt.Sprintf("only %d entries are listed", n)
	}
	return done("tool.dir.listed", h, b.String(), a.path)
}

func (d *Dispatcher) mkdir(ctx context.Context, s Scope, call agent.ToolCall, a dirArgs, t *rootio.Target) outcome {
	c, err := d.deps.Files.Mkdir(ctx, scopeOf(s, call), t)
	if err != nil {
		return d.changeFailure(a.path, sandbox.Write, err)
	}
	h := dirHeader{OK: true, Path: valid(c.Path)}
	for _, p := range c.Created {
		h.Created = append(h.Created, valid(p))
	}
	if len(h.Created) == 0 {
		h.Note = "it existed already"
	}
	o := done("tool.dir.made", h, "", a.path)
	o.sideEffect, o.changed = true, h.Created
	return o
}

func (d *Dispatcher) rmdir(ctx context.Context, s Scope, call agent.ToolCall, a dirArgs, t *rootio.Target) outcome {
	c, err := d.deps.Files.Rmdir(ctx, scopeOf(s, call), t)
	if err != nil {
		return d.changeFailure(a.path, sandbox.Delete, err)
	}
	o := done("tool.dir.removed", dirHeader{OK: true, Path: valid(c.Path)}, "", a.path)
	o.sideEffect, o.changed = true, []string{valid(c.Path)}
	return o
}
