package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"

	"sekisho/internal/agent/filetx"
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
}

// all recovers every abandoned instance, one server at a time (A-TX-06). An error is recovery.failed, or state.unusable when
// it could not begin: the caller must not serve.
func (r recovery) all(ctx context.Context, dir *statedir.Dir) error {
	found, err := dir.Recover(ctx)
	if err != nil {
		return err
	}
	for _, i := range found.Instances {
		if err := r.one(ctx, i); err != nil {
			return errors.Join(err, found.Close())
		}
	}
	if err := found.Close(); err != nil {
		return fault.New(fault.RecoveryFailed, fault.Target(dir.Path()), fault.Cause(err))
	}
	for _, i := range found.Instances {
		if _, err := os.Lstat(i.Path()); err == nil {
			r.logs.Warn("a recovered instance keeps files that no journal names", "path", i.Path())
		}
	}
	return nil
}

// one recovers one instance: first its process tree and sandbox resources, then its file transactions, so that nothing of
// the old task runs while files are restored.
func (r recovery) one(ctx context.Context, i *statedir.Instance) error {
	if err := r.audit(audit.Event{Event: audit.RecoveryStart, Instance: i.ID()}); err != nil {
		return err
	}
	undone, err := r.undo(ctx, i)
	end := audit.Event{Event: audit.RecoveryEnd, Instance: i.ID(), Undone: undone, Verified: audit.Bool(err == nil)}
	if err != nil {
		err = recoveryFailed(i.Path(), err)
		end.ErrorCode = string(fault.CodeOf(err))
		return errors.Join(err, r.audit(end))
	}
	r.logs.Info("recovered an abandoned instance", "abandoned", i.ID(), "undone", len(undone))
	return r.audit(end)
}

func (r recovery) undo(ctx context.Context, i *statedir.Instance) ([]audit.Undone, error) {
	records, err := i.Sub(broker.JournalDir)
	if err != nil {
		return nil, err
	}
	defer records.Close()
	backups, err := i.Sub(backupDir)
	if err != nil {
		return nil, err
	}
	defer backups.Close()
	undone, err := broker.Recover(ctx, broker.Abandoned{Backend: r.backend, Journal: journal.Open(r.files, records), Instance: i})
	if err != nil {
		return undone, err
	}
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
