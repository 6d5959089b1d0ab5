package tool

import (
	"context"

	"sekisho/internal/agent"
	"sekisho/internal/agent/filetx"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// Changer changes files and directories as transactions, each audited; *filetx.Manager implements it.
type Changer interface {
	Overwrite(ctx context.Context, s filetx.Scope, t *rootio.Target, content, expected string) (filetx.Change, error)
	AtomicReplace(ctx context.Context, s filetx.Scope, t *rootio.Target, content, expected string) (filetx.Change, error)
	Patch(ctx context.Context, s filetx.Scope, t *rootio.Target, patch, expected string) (filetx.Change, error)
	Delete(ctx context.Context, s filetx.Scope, t *rootio.Target, expected string) (filetx.Change, error)
	Rename(ctx context.Context, s filetx.Scope, from, to *rootio.Target, expected string) (filetx.Change, error)
	Mkdir(ctx context.Context, s filetx.Scope, t *rootio.Target) (filetx.Change, error)
	Rmdir(ctx context.Context, s filetx.Scope, t *rootio.Target) (filetx.Change, error)
}

type editHeader struct {
	OK      bool   `json:"ok"`
	Path    string `json:"path"`
	NewPath string `json:"new_path,omitzero"`
	Created bool   `json:"created,omitzero"`
	Before  string `json:"before_sha256,omitzero"`
	After   string `json:"after_sha256,omitzero"`
}

func (d *Dispatcher) prepareEdit(_ context.Context, s Scope, call agent.ToolCall, args any) step {
	a := args.(editArgs)
	want, rights := rootio.Existing, sandbox.Write
	switch a.operation {
	case "overwrite":
		want = rootio.MayCreate
	case "delete":
		rights = sandbox.Delete
	}
	from, refused := d.resolve(s, a.path, want, rights)
	if refused != nil {
		return step{refused: refused}
	}
	if a.operation != "rename" {
		return step{close: from.Close, run: func(ctx context.Context) outcome { return d.edit(ctx, s, call, a, from, nil) }}
	}
	to, refused := d.resolve(s, *a.newPath, rootio.MayCreate, rights)
	if refused != nil {
		from.Close()
		return step{refused: refused}
	}
	return step{
		close: func() error { from.Close(); return to.Close() },
		run:   func(ctx context.Context) outcome { return d.edit(ctx, s, call, a, from, to) },
	}
}

func (d *Dispatcher) edit(ctx context.Context, s Scope, call agent.ToolCall, a editArgs, from, to *rootio.Target) outcome {
	var c filetx.Change
	var err error
	tx := scopeOf(s, call)
	expected := ""
	if a.sha256 != nil {
		expected = *a.sha256
	}
	key := "tool.edit.written"
	switch a.operation {
	case "overwrite":
		c, err = d.deps.Files.Overwrite(ctx, tx, from, *a.content, expected)
	case "atomic_replace":
		c, err = d.deps.Files.AtomicReplace(ctx, tx, from, *a.content, expected)
	case "patch":
		c, err = d.deps.Files.Patch(ctx, tx, from, *a.patch, expected)
	case "delete":
		key = "tool.edit.deleted"
		c, err = d.deps.Files.Delete(ctx, tx, from, expected)
	case "rename":
		key = "tool.edit.renamed"
		c, err = d.deps.Files.Rename(ctx, tx, from, to, expected)
	}
	if err != nil {
		return d.changeFailure(a.path, rightsOf(a.operation), err)
	}
	o := done(key, editHeader{
		OK: true, Path: valid(c.Path), NewPath: valid(c.Destination), Created: c.Before == "" && a.operation == "overwrite",
		Before: c.Before, After: c.After,
	}, "", a.path)
	o.sideEffect, o.changed = true, []string{valid(c.Path)}
	if to != nil {
		o.changed = append(o.changed, valid(c.Destination))
		o.userArgs["new_path"] = valid(*a.newPath)
	}
	return o
}

func rightsOf(operation string) sandbox.Rights {
	if operation == "delete" || operation == "rmdir" {
		return sandbox.Delete
	}
	return sandbox.Write
}

func scopeOf(s Scope, call agent.ToolCall) filetx.Scope {
	return filetx.Scope{Session: s.Session, Task: s.Task, PlannerTask: s.PlannerTask, CallID: call.ID}
}

// changeFailure answers for a transaction that changed nothing. What the operating system refuses is terminal like a deny
// (A-TOOL-09).
func (d *Dispatcher) changeFailure(path string, rights sandbox.Rights, err error) outcome {
	e := fault.As(err)
	if e == nil {
		return d.readFailure(path, err)
	}
	if e.Code == fault.ToolFailed && e.Variant == "access" {
		return *d.osRefused(path, rights)
	}
	return outcome{err: e, target: path, permission: 0, say: changeTexts[e.Variant]}
}

// changeTexts tell the model why a change was refused, by variant of the code.
var changeTexts = map[string]string{
	"patch_malformed":     `patch must be one JSON string {"old_text":"...","new_text":"..."} with a non-empty old_text; a unified diff is not accepted`,
	"patch_no_match":      "old_text does not occur in the file; read the file and copy the text exactly, with its white space",
	"patch_ambiguous":     "old_text occurs more than once in the file; include more of the surrounding text so that it matches exactly once",
	"hash_mismatch":       "the file does not have the expected_sha256; it was changed meanwhile, so read it again",
	"not_found":           "there is no such file or directory",
	"is_directory":        "the path is a directory, not a file",
	"not_directory":       "the path is a file, not a directory",
	"target_exists":       "something already exists under the new name; choose another one or delete it first",
	"cross_volume":        "the new path is on another volume; write a new file there and delete the old one",
	"encoding":            "the file's encoding is unknown or cannot represent the new text",
	"too_large":           "the file is too large to be changed this way",
	"attributes":          "the file has an access list or other extended attributes that cannot be kept; nothing was changed",
	"invalid_syntax":      "the new content is not valid in the file's format; nothing was changed",
	"swapped":             "another program replaced the file meanwhile; read it again",
	"directory_not_empty": "the directory is not empty; it is never removed with its content",
}
