package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sekisho/internal/agent/config/applied"
	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/visible"
)

// UI is how Apply talks to the person.
type UI struct {
	In  io.Reader
	Out io.Writer
	// Terminal tells that a person can answer on In.
	Terminal bool
	// Yes skips the question.
	Yes bool
}

// Apply shows one difference between what was applied and r, asks once, and replaces the snapshot as a whole (A-CFG-04). What
// was shown is what is stored. Without a terminal and without Yes it refuses after showing. Equal content is said to be
// so, and nothing is written. Load and Resolve have reported no error.
//
// Errors are *fault.Error: configuration.not_applied, variant corrupt (a malformed snapshot is not repaired), unconfirmed
// (nobody could be asked) or declined; state.unusable.
func Apply(ctx context.Context, l *Loaded, r *Resolved, store *applied.Store, ui UI) error {
	path := l.Places.Config
	old, err := store.Read(path)
	first := errors.Is(err, fault.New(fault.ConfigurationAbsent)) && fault.As(err).Variant == ""
	if err != nil && !first {
		return err
	}
	changes := applied.Diff(old, r.Snapshot)
	if first {
		changes = applied.First(r.Snapshot)
	}
	if err := writeChanges(ui.Out, l, r, changes, first); err != nil {
		return fmt.Errorf("showing the changes: %w", err)
	}
	if len(changes) == 0 {
		return nil
	}
	if !ui.Yes {
		if err := confirm(ui, l.Locale, l.Places); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := store.Replace(r.Snapshot); err != nil {
		return err
	}
	_, err = fmt.Fprintln(ui.Out, l.Locale.Text("apply.done", map[string]string{"path": path}))
	return err
}

func confirm(ui UI, c *locale.Catalogue, places Places) error {
	path := places.Config
	command := fault.Arg("command", places.command("apply", path))
	if !ui.Terminal {
		return fault.New(fault.ConfigurationAbsent, fault.Variant("unconfirmed"), fault.Target(path), command)
	}
	if _, err := fmt.Fprint(ui.Out, c.Text("apply.question", nil)+" "); err != nil {
		return fmt.Errorf("asking: %w", err)
	}
	answer, err := readLine(ui.In)
	if err != nil {
		return fault.New(fault.ConfigurationAbsent, fault.Variant("declined"), fault.Target(path), command, fault.Cause(err))
	}
	yes := strings.Fields(c.Text("apply.yes", nil))
	if !slices.Contains(yes, strings.ToLower(strings.TrimSpace(answer))) {
		return fault.New(fault.ConfigurationAbsent, fault.Variant("declined"), fault.Target(path), command)
	}
	return nil
}

// readLine reads one answer, byte by byte so that nothing behind it is taken; a long line is no answer.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); len(line) < 256; {
		n, err := r.Read(one)
		if n == 1 {
			if one[0] == '\n' {
				return string(line), nil
			}
			line = append(line, one[0])
		}
		if err != nil {
			return "", err // also the end of input: an unfinished line is no answer
		}
	}
	return "", errors.New("the answer is too long")
}

func writeChanges(w io.Writer, l *Loaded, r *Resolved, changes []applied.Change, first bool) error {
	c := l.Locale
	var b strings.Builder
	for i, f := range l.Files {
		key := "apply.config"
		if i > 0 {
			key = "apply.overlay"
		}
		b.WriteString(c.Text(key, map[string]string{"path": f}) + "\n")
	}
	switch {
	case len(changes) == 0:
		b.WriteString(c.Text("apply.unchanged", nil) + "\n")
	case first:
		b.WriteString(c.Text("apply.first", nil) + "\n\n")
	default:
		b.WriteString(c.Text("apply.changes", nil) + "\n\n")
	}
	b.WriteString(changeTable(changes))
	if len(changes) > 0 {
		b.WriteString("\n")
		if len(r.Snapshot.Workspaces) > 0 {
			b.WriteString(c.Text("apply.profile."+r.Snapshot.Profile, nil) + "\n")
		}
		if first {
			b.WriteString(c.Text("apply.first.rest", nil) + "\n")
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func changeTable(changes []applied.Change) string {
	var rows [][]string
	for _, ch := range changes {
		value := ""
		switch ch.Kind {
		case applied.Added:
			value = visible.Escape(ch.New)
		case applied.Removed:
			value = visible.Escape(ch.Old)
		case applied.Changed:
			value = visible.Escape(ch.Old) + " → " + visible.Escape(ch.New)
		}
		rows = append(rows, []string{ch.Kind.Sign(), visible.Escape(ch.Key), value})
	}
	return table("  ", rows)
}
