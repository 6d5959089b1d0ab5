package taskstore

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sekisho/internal/atomicfile"
	"sekisho/internal/fileop"
	"sekisho/internal/statedir"
)

// Restarted is the reason that a task of an ended server failed with, as the error's message.
const Restarted = "server_restarted"

// internalError is JSON-RPC's code for it.
const internalError = -32603

// Recovery ends what ended servers left unfinished. The zero value of Kept is ready.
type Recovery struct {
	Files   fileop.FS
	Message string // status message of a task that failed by the restart, localized
	Now     func() time.Time
	// Kept are the records that stay, over all instances.
	Kept []Kept
}

// Kept is a terminal record of an ended server.
type Kept struct {
	instance *statedir.Instance
	task     string
	created  time.Time
	size     int64
}

// Report counts what a recovery did with one instance.
type Report struct{ Failed, Expired, Refused int }

// One makes the unfinished tasks of an ended instance failed, and removes what is expired or no record. The caller holds the
// instance's lock. It may be repeated; a terminal record is never written again.
func (r *Recovery) One(i *statedir.Instance) (Report, error) {
	var report Report
	info, err := os.Lstat(i.TreePath(Dir))
	if err != nil {
		return report, ignoreMissing(err)
	}
	if !info.IsDir() { // a link or a file: not ours
		report.Refused++
		return report, i.RemoveTree(Dir)
	}
	dir, err := i.Sub(Dir)
	if err != nil {
		return report, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return report, err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := r.settle(i, dir, name, &report); err != nil {
			return report, fmt.Errorf("task record: %w", err)
		}
	}
	return report, nil
}

// settle brings one name of the directory in order.
func (r *Recovery) settle(i *statedir.Instance, dir *os.File, name string, report *Report) error {
	record, err := readName(i, name)
	switch {
	case err != nil:
		report.Refused++
		return i.RemoveTree(Dir, name) // links are removed, never followed
	case record.Expired(r.Now()):
		report.Expired++
		return atomicfile.Remove(r.Files, dir, name)
	case !record.Status.Terminal():
		report.Failed++
		record = record.ended(Outcome{Status: Failed, Message: r.Message, Error: &Error{Code: internalError, Message: Restarted}}.fit(), r.Now())
		data, err := record.encode()
		if err != nil {
			return err
		}
		if err := atomicfile.Write(r.Files, dir, name, data, 0o600); err != nil {
			return err
		}
	}
	info, err := os.Lstat(filepath.Join(dir.Name(), name))
	if err != nil {
		return err
	}
	r.Kept = append(r.Kept, Kept{i, record.TaskID, record.CreatedAt, info.Size()})
	return nil
}

// Limits of the records of all ended servers together; the oldest go first.
const (
	maxKept      = 16384
	maxKeptBytes = 1 << 30
)

// Bound removes the oldest kept records above the limits and returns how many.
func (r *Recovery) Bound() (int, error) { return r.bound(maxKept, maxKeptBytes) }

func (r *Recovery) bound(count int, bytes int64) (int, error) {
	slices.SortFunc(r.Kept, func(a, b Kept) int { return cmp.Or(b.created.Compare(a.created), cmp.Compare(a.task, b.task)) })
	var total int64
	n := 0
	for n < len(r.Kept) && n < count && total+r.Kept[n].size <= bytes {
		total += r.Kept[n].size
		n++
	}
	over := r.Kept[n:]
	r.Kept = r.Kept[:n]
	for _, k := range over {
		if err := k.remove(r.Files); err != nil {
			return 0, err
		}
	}
	return len(over), nil
}

func (k Kept) remove(files fileop.FS) error {
	dir, err := k.instance.Sub(Dir)
	if err != nil {
		return err
	}
	return errors.Join(atomicfile.Remove(files, dir, k.task+suffix), dir.Close())
}

func readName(i *statedir.Instance, name string) (Record, error) {
	id, ok := strings.CutSuffix(name, suffix)
	if !ok || !ValidID(id) {
		return Record{}, errors.New("not the name of a record")
	}
	return read(i.TreePath(Dir), i.ID(), id)
}
