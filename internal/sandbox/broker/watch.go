package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/guard"
	"sekisho/internal/strictjson"
)

// watchKind is the journal's step that says where the task's processes may leave what the host would run (A-POL-13). It is
// the first one, has no effect of its own, and is undone by sweeping when everything else is.
const watchKind = "quarantine"

// quarantineDir is the directory of all quarantines in the state root. What lies in it is the user's to look at and remove.
const quarantineDir = "quarantine"

// watchSteps is the step that journals w before anything runs; none when there is nothing to watch.
func watchSteps(w guard.Watch) ([]journal.Step, error) {
	if w.Empty() {
		return nil, nil
	}
	data, err := strictjson.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encoding what is watched: %w", err)
	}
	step, err := encode(sandbox.Step{Schema: 1, Kind: watchKind, Data: data}, sandbox.Undo{Schema: 1, Kind: watchKind, Data: data})
	step.Applied = true
	return []journal.Step{step}, err
}

func watchOf(data json.RawMessage) (guard.Watch, error) {
	var w guard.Watch
	err := strictjson.Unmarshal(data, journal.MaxBytes, &w)
	if err == nil {
		err = w.Check()
	}
	return w, err
}

// sweep moves away what the dead tree left. Each object is reported; so is a root that could not be looked at because it is
// another object by now.
func (t *transaction) sweep(ctx context.Context, data json.RawMessage, report func(effect, target string, err error)) error {
	w, err := watchOf(data)
	if err != nil {
		return err
	}
	if t.state == nil {
		return errors.New("there is no state root for a quarantine")
	}
	state, err := t.state.Sub(quarantineDir)
	if err != nil {
		return err
	}
	defer state.Close()
	q := guard.NewQuarantine(t.files, state, t.entry.Key())
	// However much the task left, it is dead: this ends, and what is not moved would be there for the host to run.
	moved, gone, err := guard.Sweep(context.WithoutCancel(ctx), t.files, w, q)
	err = errors.Join(err, q.Close())
	for _, m := range moved {
		report(watchKind, m.Path+" -> "+m.To, err)
	}
	for _, root := range gone {
		report(watchKind, root, guard.ErrGone)
		moved = append(moved, sandbox.Quarantined{Path: root})
	}
	t.left = append(t.left, moved...)
	return err
}
