package filetx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox/rootio"
)

// errReadBack tells that what lies under the name is not what was put there.
var errReadBack = errors.New("the file does not have its new bytes after the change")

// Overwrite gives the file exactly content, creating it if missing (its parent directory exists). Byte order mark,
// encoding and line endings of an existing file are kept. expected is the SHA-256 the caller believes the file has, or "".
func (m *Manager) Overwrite(ctx context.Context, s Scope, t *rootio.Target, content, expected string) (Change, error) {
	return m.write(ctx, s, t, "overwrite", expected, contentOf(content))
}

// AtomicReplace is Overwrite for a file that must exist.
func (m *Manager) AtomicReplace(ctx context.Context, s Scope, t *rootio.Target, content, expected string) (Change, error) {
	if t.Info().Kind == rootio.Missing {
		return Change{}, failed(t.Path(), fs.ErrNotExist)
	}
	return m.write(ctx, s, t, "atomic_replace", expected, contentOf(content))
}

// Patch replaces the one place where old_text stands; patch is A-TOOL-10's JSON text.
func (m *Manager) Patch(ctx context.Context, s Scope, t *rootio.Target, patch, expected string) (Change, error) {
	oldText, newText, err := parsePatch(patch)
	if err != nil {
		return Change{}, failed(t.Path(), err)
	}
	if t.Info().Kind == rootio.Missing {
		return Change{}, failed(t.Path(), fs.ErrNotExist)
	}
	return m.write(ctx, s, t, "patch", expected, func(old snapshot) ([]byte, error) {
		if !old.whole {
			return nil, errTooLarge
		}
		return applyPatch(old.data, oldText, newText)
	})
}

// contentOf gives a file new content in its old form. A file that is too large to be read as text has no form to keep.
func contentOf(content string) func(snapshot) ([]byte, error) {
	return func(old snapshot) ([]byte, error) {
		if !old.whole {
			return []byte(content), nil
		}
		b, ok := rewrite(old.data, content)
		if !ok {
			return nil, errEncoding
		}
		return b, nil
	}
}

// write is the sequence of A-TX-02: identity and hash → snapshot → write beside → validation → atomic replace → read-back
// hash → commit.
func (m *Manager) write(ctx context.Context, s Scope, t *rootio.Target, operation, expected string, next func(snapshot) ([]byte, error)) (Change, error) {
	return m.exclusively(ctx, t.Path(), func() (Change, error) {
		old, err := m.oldFile(ctx, t, expected)
		if err != nil {
			return Change{}, err
		}
		data, err := next(old)
		if err != nil {
			return Change{}, err
		}
		if err := validate(t.Path(), old.data, data); err != nil {
			return Change{}, err
		}
		r := record{Operation: opWrite, After: digest(data), Temp: randomName(), Restore: randomName()}
		if old.sum != "" {
			r.Before, r.Backup = versionOf(old.info, old.sum), m.backupName(old.info.Size)
		}
		tx, err := m.begin(s, r, t)
		if err != nil {
			return Change{}, err
		}
		c := Change{Path: t.Path(), Before: old.sum, After: r.After}
		return c, m.finish(tx, func() error { return m.replace(ctx, tx, t, old, data) }, s.event(audit.FileWrite, operation, c))
	})
}

// oldFile checks that t can be written and takes its snapshot; the zero snapshot, which counts as whole, when nothing is
// there.
func (m *Manager) oldFile(ctx context.Context, t *rootio.Target, expected string) (snapshot, error) {
	switch {
	case t.Info().Kind == rootio.Dir:
		return snapshot{}, syscall.EISDIR
	case len(t.Missing()) > 1:
		return snapshot{}, fs.ErrNotExist
	}
	if err := t.CheckWrite(); err != nil {
		return snapshot{}, err
	}
	if t.Info().Kind == rootio.File {
		return m.take(ctx, t, expected)
	}
	if expected != "" {
		return snapshot{}, errExpected
	}
	return snapshot{whole: true}, nil
}

func (m *Manager) replace(ctx context.Context, tx *transaction, t *rootio.Target, old snapshot, data []byte) error {
	r := tx.entry.Record()
	if r.Before != nil {
		if err := m.keep(ctx, tx, t, old); err != nil {
			return err
		}
	}
	if err := putBeside(t, r.Temp, data, old.info); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.Before == nil {
		if err := t.Publish(r.Temp); err != nil {
			return err
		}
	} else {
		if err := unchanged(t, old.info); err != nil {
			return err
		}
		if err := t.Replace(r.Temp); err != nil {
			return err
		}
	}
	if err := t.SyncParent(); err != nil {
		return err
	}
	sum, _, err := digestNow(t)
	if err == nil && sum != r.After {
		err = errReadBack
	}
	return err
}

// putBeside makes the new file under a name of its own, like the old one, on the device.
func putBeside(t *rootio.Target, name string, data []byte, like rootio.Info) error {
	f, err := t.CreateBeside(name)
	if err != nil {
		return err
	}
	err = t.Write(f, data)
	if err == nil {
		err = t.Finish(f, like)
	}
	return errors.Join(err, f.Close())
}

// validate refuses a change that makes a valid file invalid; one that was not valid before may stay so. JSON is the one
// format with a validator: source code is often wrong for one step of a larger change.
func validate(name string, old, data []byte) error {
	if strings.ToLower(path.Ext(name)) != ".json" || !validJSON(old) || validJSON(data) {
		return nil
	}
	var v any
	cause := json.Unmarshal([]byte(read(data).text), &v)
	return fault.New(fault.ToolFailed, fault.Variant("invalid_syntax"), fault.Target(name), fault.Arg("format", "JSON"), fault.Cause(fmt.Errorf("the new content is not valid JSON: %w", cause)))
}

func validJSON(b []byte) bool { return json.Valid([]byte(read(b).text)) }
