package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"sekisho/internal/agent/filetx"
	"sekisho/internal/agent/mcpserver/taskstore"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/broker"
	"sekisho/internal/statedir"
)

// backupDir holds old bytes of large files while their transaction is open.
const backupDir = "backup"

// recovery cleans the instances of servers that are gone.
type recovery struct {
	files   fileop.FS
	backend sandbox.Backend // nil where this system has none
	logs    *logs
	message string        // status message of MCP tasks that a restart ended
	dir     *statedir.Dir // the state root that is recovered
}

// all recovers every abandoned instance, one server at a time (A-TX-06). An error is recovery.failed, or state.unusable when
// it could not begin: the caller must not serve.
func (r recovery) all(ctx context.Context, dir *statedir.Dir) error {
	r.dir = dir
	found, err := dir.Recover(ctx)
	if err != nil {
		return err
	}
	tasks := &taskstore.Recovery{Files: r.files, Message: r.message, Now: time.Now}
	for _, i := range found.Instances {
		if err := r.one(ctx, i, tasks); err != nil {
			return errors.Join(err, found.Close())
		}
	}
	dropped, err := tasks.Bound()
	if err != nil {
		return errors.Join(recoveryFailed(dir.Path(), err), found.Close())
	}
	if dropped > 0 {
		r.logs.Warn("removed the oldest task records of ended servers: there were too many", "records", dropped)
	}
	if err := found.Close(); err != nil {
		return fault.New(fault.RecoveryFailed, fault.Target(dir.Path()), fault.Cause(err))
	}
	for _, i := range found.Instances {
		if ended, err := onlyRecords(i); err == nil && !ended {
			r.logs.Warn("a recovered instance keeps files that no journal names", "path", i.Path())
		}
	}
	return nil
}

// later is all for a server that runs: before each of its tasks. One at a time, as the lock of the state root is the server's.
func (r recovery) later(dir *statedir.Dir) func(context.Context) error {
	var mu sync.Mutex
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		return r.all(ctx, dir)
	}
}

// onlyRecords reports whether nothing is left of an instance but records of MCP tasks, or nothing at all.
func onlyRecords(i *statedir.Instance) (bool, error) {
	names, err := i.Names()
	return !slices.ContainsFunc(names, func(name string) bool { return name != taskstore.Dir }), err
}

// one recovers one instance: first its process tree and sandbox resources, then its file transactions, so that nothing of
// the old task runs while files are restored, then its MCP tasks. Where there are only records of MCP tasks, a server has
// ended in order or was recovered before, and the audit is told nothing.
func (r recovery) one(ctx context.Context, i *statedir.Instance, tasks *taskstore.Recovery) error {
	if ended, err := onlyRecords(i); err == nil && ended {
		return r.records(i, tasks)
	}
	start := audit.Event{Event: audit.RecoveryStart, Instance: i.ID()}
	err := r.audit(start)
	if fileop.Full(err) {
		if err = r.makeRoom(ctx, i); err == nil {
			err = r.audit(start)
		}
	}
	if err != nil {
		return err
	}
	undone, err := r.undo(ctx, i)
	if err == nil {
		err = r.records(i, tasks)
	}
	end := audit.Event{Event: audit.RecoveryEnd, Instance: i.ID(), Undone: undone, Verified: audit.Bool(err == nil)}
	if err != nil {
		err = recoveryFailed(i.Path(), err)
		end.ErrorCode = string(fault.CodeOf(err))
		return errors.Join(err, r.audit(end))
	}
	r.logs.Info("recovered an abandoned instance", "abandoned", i.ID(), "undone", len(undone))
	return r.audit(end)
}

// records brings the MCP tasks of an instance in order.
func (r recovery) records(i *statedir.Instance, tasks *taskstore.Recovery) error {
	report, err := tasks.One(i)
	if err != nil {
		return recoveryFailed(i.Path(), err)
	}
	if report != (taskstore.Report{}) {
		r.logs.Info("brought task records in order", "abandoned", i.ID(), "failed", report.Failed, "expired", report.Expired, "refused", report.Refused)
	}
	return nil
}

// newInstance makes this server's own instance, after making room for it if need be: a task can fill the disk before its
// server dies, and only a start removes what it left.
func (r recovery) newInstance(ctx context.Context, dir *statedir.Dir) (*statedir.Instance, error) {
	i, err := dir.NewInstance(ctx)
	if !fileop.Full(err) {
		return i, err
	}
	if err := r.room(ctx, dir); err != nil {
		return nil, err
	}
	return dir.NewInstance(ctx)
}

// room removes what abandoned instances can do without, writing nothing. The recovery that follows tells what was removed.
func (r recovery) room(ctx context.Context, dir *statedir.Dir) error {
	found, err := dir.Recover(ctx)
	if err != nil {
		return err
	}
	for _, i := range found.Instances {
		if err := r.makeRoom(ctx, i); err != nil {
			return errors.Join(err, found.Close())
		}
	}
	return found.Close()
}

func (r recovery) makeRoom(ctx context.Context, i *statedir.Instance) error {
	records, err := i.Sub(broker.JournalDir)
	if fileop.Full(err) {
		return nil // there is none yet, and so nothing to remove
	}
	if err != nil {
		return err
	}
	defer records.Close()
	return broker.MakeRoom(ctx, broker.Abandoned{Backend: r.backend, Journal: journal.Open(r.files, records), Instance: i})
}

func (r recovery) undo(ctx context.Context, i *statedir.Instance) ([]audit.Undone, error) {
	records, err := i.Sub(broker.JournalDir)
	if err != nil {
		return nil, err
	}
	defer records.Close()
	undone, err := broker.Recover(ctx, broker.Abandoned{Backend: r.backend, Journal: journal.Open(r.files, records), Instance: i, State: r.dir, Files: r.files})
	if err != nil {
		return undone, err
	}
	backups, err := i.Sub(backupDir) // may have to be made, so only now that there is room
	if err != nil {
		return undone, err
	}
	defer backups.Close()
	changes, err := filetx.Recover(ctx, filetx.Deps{FS: r.files, Records: records, Temp: backups, Audit: r.logs.audit})
	for _, c := range changes {
		undone = append(undone, audit.Undone{Effect: c.Operation + ": " + c.Outcome, Target: c.Path, Verified: true})
	}
	return undone, err
}

func (r recovery) audit(e audit.Event) error {
	if err := r.logs.audit.Write(e); err != nil {
		return fault.New(fault.StateUnusable, fault.Variant("audit"), fault.Target(r.logs.dir.Name()), fault.Arg("reason", err), fault.Cause(err))
	}
	return nil
}

func recoveryFailed(path string, err error) error {
	if fault.CodeOf(err) == fault.RecoveryFailed {
		return err
	}
	return fault.New(fault.RecoveryFailed, fault.Target(path), fault.Cause(err))
}

// checkClean proves that an instance's journals are gone (A-STOP-01).
func checkClean(records *os.File) error {
	left, err := os.ReadDir(records.Name())
	if err != nil {
		return fault.New(fault.RecoveryFailed, fault.Target(records.Name()), fault.Cause(err))
	}
	if len(left) > 0 {
		return fault.New(fault.RecoveryFailed, fault.Target(records.Name()), fault.Cause(fmt.Errorf("%d journals are left, first %s", len(left), left[0].Name())))
	}
	return nil
}
