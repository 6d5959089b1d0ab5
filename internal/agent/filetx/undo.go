package filetx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/rootio"
)

// Outcomes of undoing one transaction.
const (
	// Undone: the old state is back, verified by its digest.
	Undone = "undone"
	// Kept: the complete new state stays, because the old bytes were in the memory of the ended process.
	Kept = "kept"
	// Nothing: no effect had happened.
	Nothing = "nothing"
	// Foreign: another object is there by now, or its directory or root is gone; it was left alone.
	Foreign = "foreign"
)

// undo brings the old state back, verifies it, and removes record and backup. It can be repeated.
func (tx *transaction) undo() (outcome string, err error) {
	r := tx.entry.Record()
	switch r.Operation {
	case opRename:
		outcome, err = tx.undoRename(r)
	case opMkdir:
		outcome, err = tx.undoMkdir(r)
	default:
		outcome, err = tx.undoOne(r)
	}
	if err != nil {
		return "", err
	}
	if outcome == Kept && tx.onKept != nil {
		if err := tx.onKept(r); err != nil {
			return "", err
		}
	}
	return outcome, tx.close()
}

// undoOne undoes what changed one name.
func (tx *transaction) undoOne(r record) (string, error) {
	t, err := tx.find(0, r.Places[0])
	if err != nil || t == nil {
		return Foreign, err
	}
	if err := clearBeside(t, r); err != nil {
		return "", err
	}
	now, err := t.Again()
	if errors.Is(err, rootio.ErrSwapped) {
		return Foreign, nil
	}
	if err != nil {
		return "", err
	}
	defer now.Close()
	if r.Operation == opRmdir {
		return undoRmdir(now, r)
	}
	return tx.undoFile(now, r)
}

// undoFile judges by digest alone: the old bytes are there, ours are there, or somebody else's are.
func (tx *transaction) undoFile(now *rootio.Target, r record) (string, error) {
	sum, err := digestOf(now)
	if err != nil {
		return "", err
	}
	old := ""
	if r.Before != nil {
		old = r.Before.SHA256
	}
	switch {
	case now.Info().Kind == rootio.Dir:
		return Foreign, nil
	case sum == old:
		return Nothing, nil
	case sum != r.After:
		return Foreign, nil
	case r.Before == nil:
		if err := now.Unlink(); err != nil {
			return "", err
		}
		return Undone, gone(now)
	}
	return tx.restore(now, r)
}

// restore puts the old bytes back under the name.
func (tx *transaction) restore(now *rootio.Target, r record) (string, error) {
	old, err := tx.oldBytes(r)
	if err != nil || old == nil {
		return Kept, err
	}
	defer old.Close()
	f, err := now.CreateBeside(r.Restore)
	if err != nil {
		return "", err
	}
	sum, err := copyTo(old, func(p []byte) error { return now.Write(f, p) })
	if err == nil && sum != r.Before.SHA256 {
		err = fmt.Errorf("the kept bytes have the digest %s instead of %s", sum, r.Before.SHA256)
	}
	if err == nil {
		err = now.Finish(f, r.Before.info(rootio.File))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, now.Discard(r.Restore))
	}
	if now.Info().Kind == rootio.Missing {
		err = now.Publish(r.Restore)
	} else {
		err = now.Replace(r.Restore)
	}
	if err != nil {
		return "", err
	}
	if err := now.SyncParent(); err != nil {
		return "", err
	}
	if sum, _, err = digestNow(now); err == nil && sum != r.Before.SHA256 {
		err = errReadBack
	}
	return Undone, err
}

// oldBytes opens what was kept; nil when it was kept in the memory of another process.
func (tx *transaction) oldBytes(r record) (io.ReadCloser, error) {
	if r.Backup == "" {
		if tx.memory == nil {
			return nil, nil
		}
		return io.NopCloser(bytes.NewReader(tx.memory)), nil
	}
	if err := fileop.CheckName(r.Backup); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(tx.deps.Temp.Name())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(r.Backup)
}

// undoRename moves the file back only when the destination has the journalled digest (A-TX-03).
func (tx *transaction) undoRename(r record) (string, error) {
	from, err := tx.find(0, r.Places[0])
	if err != nil || from == nil {
		return Foreign, err
	}
	to, err := tx.find(1, r.Places[1])
	if err != nil || to == nil {
		return Foreign, err
	}
	source, err := from.Again()
	if err != nil {
		return foreignIfSwapped(err)
	}
	defer source.Close()
	moved, err := to.Again()
	if err != nil {
		return foreignIfSwapped(err)
	}
	defer moved.Close()
	sum, err := digestOf(moved)
	switch {
	case err != nil:
		return "", err
	case moved.Info().Kind == rootio.Missing && source.Info().Kind == rootio.File:
		return Nothing, nil
	case source.Info().Kind != rootio.Missing || sum != r.Before.SHA256:
		return Foreign, nil
	}
	if err := moved.MoveTo(source); err != nil {
		return "", err
	}
	if err := source.SyncParent(); err != nil {
		return "", err
	}
	if err := gone(moved); err != nil {
		return "", err
	}
	if sum, _, err = digestNow(source); err == nil && sum != r.Before.SHA256 {
		err = errReadBack
	}
	return Undone, err
}

func foreignIfSwapped(err error) (string, error) {
	if errors.Is(err, rootio.ErrSwapped) {
		return Foreign, nil
	}
	return "", err
}

// clearBeside removes what the transaction has beside the name.
func clearBeside(t *rootio.Target, r record) error {
	for _, name := range []string{r.Temp, r.Restore} {
		if name == "" {
			continue
		}
		err := t.Discard(name)
		if errors.Is(err, syscall.EISDIR) {
			err = removeBeside(t, name)
		}
		if ignoreMissing(err) != nil {
			return err
		}
	}
	return t.SyncParent()
}

func removeBeside(t *rootio.Target, name string) error {
	slot, err := t.Beside(name)
	if err != nil {
		return err
	}
	defer slot.Close()
	dir, err := slot.Again()
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Rmdir()
}
