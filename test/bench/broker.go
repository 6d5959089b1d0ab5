//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/broker"
	"sekisho/internal/statedir"
)

// throughBroker measures what a task waits for at its first run: survey, private directories, journal, sandbox, program.
func (b *bench) throughBroker(workspace string, c sandbox.Command, other act) error {
	for _, spares := range []bool{false, true} {
		t, err := b.newTask(workspace)
		if err != nil {
			return err
		}
		if err := b.brokered(t, spares, c, other); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) brokered(t *task, spares bool, c sandbox.Command, other act) (err error) {
	dir, err := os.MkdirTemp(b.dir, "broker-")
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	files := fileop.OS()
	state, err := statedir.Open(files, dir+"/state")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	instance, err := state.NewInstance(b.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Close()) }()
	records, err := instance.Sub(broker.JournalDir)
	if err != nil {
		return err
	}
	defer records.Close()
	homes, err := statedir.OpenHomes(files, dir+"/cache")
	if err != nil {
		return err
	}
	defer homes.Close()
	policy := t.policy
	policy.Task, policy.TempMB, policy.HomeMB = sandbox.TaskBinding{}, 4096, 8192
	k := broker.New(broker.Deps{Backend: t.backend, Journal: journal.Open(files, records), Instance: instance, Homes: homes, Policy: policy, State: state,
		Files: files, Spares: spares})
	defer func() { err = errors.Join(err, k.Close(b.ctx)) }()

	name, serial := "", 0
	var claim sandbox.Claim
	var job sandbox.TaskJob
	before := func() (err error) {
		serial++
		name = fmt.Sprint("task-", serial)
		if claim, err = k.Claim(b.ctx, name, nil); err == nil && spares {
			err = k.Ready(b.ctx)
		}
		return err
	}
	first := func() (err error) {
		if job, err = k.Open(b.ctx, "session", name); err != nil {
			return err
		}
		if job.FromSpare() != spares {
			return fmt.Errorf("from the spare: %v", job.FromSpare())
		}
		var out, errs bytes.Buffer
		run := c
		run.Stdout, run.Stderr = &out, &errs
		p, err := job.Start(b.ctx, run)
		if err != nil {
			return err
		}
		exit, err := p.Wait(b.ctx)
		if err == nil && exit.Code != 0 {
			err = fmt.Errorf("%s ended with %d: %s", c.Path, exit.Code, errs.String())
		}
		return err
	}
	after := func() error {
		var errs []error
		if job != nil {
			errs = append(errs, job.Close(b.ctx))
		}
		return errors.Join(append(errs, claim.Release())...)
	}
	s, err := b.interleaveReady(b.pairs(41), before, first, after, other)
	if err != nil {
		return err
	}
	title := "first run of a task, cold"
	if spares {
		title = "first run of a task, spare"
	}
	s.row(title, goal{})
	return nil
}
