package filetx

import (
	"errors"
	"syscall"

	"sekisho/internal/sandbox/rootio"
)

// undoMkdir removes the journalled directories, the innermost first, only while they are empty (A-TX-03).
func (tx *transaction) undoMkdir(r record) (string, error) {
	outcome := Nothing
	for i := len(r.Places) - 1; i >= 0; i-- {
		t, err := tx.find(i, r.Places[i])
		if err != nil {
			return "", err
		}
		if t == nil {
			continue // its parent directory is gone or was never made
		}
		now, err := t.Again()
		if errors.Is(err, rootio.ErrSwapped) {
			outcome = Foreign
			continue
		}
		if err != nil {
			return "", err
		}
		removed, err := rmdirOurs(now)
		now.Close()
		if err != nil {
			return "", err
		}
		if removed != Nothing {
			outcome = removed
		}
	}
	return outcome, nil
}

func rmdirOurs(now *rootio.Target) (string, error) {
	switch now.Info().Kind {
	case rootio.Missing:
		return Nothing, nil
	case rootio.File:
		return Foreign, nil
	}
	switch err := now.Rmdir(); {
	case errors.Is(err, syscall.ENOTEMPTY):
		return Foreign, nil
	case err != nil:
		return "", err
	}
	return Undone, gone(now)
}

// undoRmdir makes the removed directory again: beside, until it is like the old one, then under its name.
func undoRmdir(now *rootio.Target, r record) (string, error) {
	switch now.Info().Kind {
	case rootio.Dir:
		return Nothing, nil
	case rootio.File:
		return Foreign, nil
	}
	beside, err := now.Beside(r.Restore)
	if err != nil {
		return "", err
	}
	defer beside.Close()
	made, err := beside.Mkdir(r.Before.info(rootio.Dir))
	if err != nil {
		return "", err
	}
	if err := errors.Join(made.Close(), now.Publish(r.Restore)); err != nil {
		return "", err
	}
	return Undone, now.SyncParent()
}
