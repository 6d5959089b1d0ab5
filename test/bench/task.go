//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/host"
	"sekisho/internal/sandbox/resolve"
)

// task is one agent task as the backend sees it: a development workspace and the system's own programs, no network.
type task struct {
	ctx     context.Context
	backend sandbox.Backend
	policy  sandbox.EffectivePolicy
	undos   []sandbox.Undo
	job     sandbox.Job
	serial  int
}

// newTask declares a task whose workspace is a directory of the run.
func (b *bench) newTask(workspace string) (*task, error) {
	program, err := b.bin.Build("cmd/agent-mcp")
	if err != nil {
		return nil, err
	}
	return newTask(b.ctx, program, b.dir, workspace)
}

// newTask declares a task whose sandboxes are made by program and whose own directories lie below dir.
func newTask(ctx context.Context, program, dir, workspace string) (_ *task, err error) {
	t := &task{ctx: ctx}
	if t.backend, err = host.Open(host.Options{Program: program, Files: fileop.OS()}); err != nil {
		return nil, err
	}
	dir, err = os.MkdirTemp(dir, "task-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	p := &t.policy
	p.Profile = "development"
	p.Network.Access = sandbox.NetworkNone
	p.Resources = sandbox.ResourcePolicy{Profile: "normal", MemoryMB: 512, ProcessLimit: 16, TimeoutSeconds: 120, Cgroup: "auto"}
	p.Task = sandbox.TaskBinding{Instance: fmt.Sprintf("bench-%d", os.Getpid()), Temp: filepath.Join(dir, "temp"), Home: filepath.Join(dir, "home")}
	for _, d := range []string{p.Task.Temp, p.Task.Home} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	runtime, err := resolve.OSRuntime()
	if err != nil {
		return nil, err
	}
	for _, r := range runtime {
		p.Roots = append(p.Roots, sandbox.Root{Path: r.Path, Rights: sandbox.Read | sandbox.Execute, Origins: []sandbox.Origin{sandbox.OriginOSRuntimeRoot}, ID: r.ID})
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(workspace, &st); err != nil {
		return nil, err
	}
	p.Roots = append(p.Roots, sandbox.Root{Path: workspace, Rights: sandbox.Read | sandbox.Write | sandbox.Delete | sandbox.Execute,
		Origins: []sandbox.Origin{sandbox.OriginWorkspace}, ID: sandbox.FileID{Dev: uint64(st.Dev), Ino: st.Ino}})
	slices.SortFunc(p.Roots, func(a, b sandbox.Root) int { return strings.Compare(a.Path, b.Path) })
	return t, nil
}

// approve grants one program that lies in no root yet.
func (t *task) approve(path string) error {
	exe, err := resolve.Executable(path)
	if err != nil || slices.ContainsFunc(t.policy.Roots, func(r sandbox.Root) bool { return resolve.Within(r.Path, exe.Path) }) {
		return err
	}
	t.policy.Roots = append(t.policy.Roots, sandbox.Root{Path: exe.Path, File: true, Rights: sandbox.Read | sandbox.Execute,
		Origins: []sandbox.Origin{sandbox.OriginApprovedEntry}, ID: exe.ID})
	slices.SortFunc(t.policy.Roots, func(a, b sandbox.Root) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// open makes the sandbox, as the broker does but without its journal.
func (t *task) open() error {
	if err := t.apply(); err != nil {
		return err
	}
	var err error
	t.job, err = t.backend.Open(t.ctx, t.policy, t.undos)
	return err
}

// spare makes a sandbox in which nothing runs yet.
func (t *task) spare() error {
	maker, ok := t.backend.(sandbox.Sparer)
	if !ok {
		return sandbox.ErrNoSpare
	}
	err := t.apply()
	if err == nil {
		t.job, err = maker.Spare(t.ctx, t.policy, t.undos)
	}
	return err
}

// first returns the act of taking the spare and running a program in it.
func (t *task) first(c sandbox.Command) act {
	run := t.warm(c)
	return func() error {
		if err := t.job.(sandbox.Spare).Take(t.ctx, t.policy); err != nil {
			return err
		}
		return run()
	}
}

func (t *task) apply() error {
	t.serial++
	t.policy.Task.Task = fmt.Sprintf("task-%p-%d", t, t.serial)
	steps, err := t.backend.Plan(t.policy)
	if err != nil {
		return err
	}
	t.undos = nil
	for _, s := range steps {
		u, err := t.backend.Observe(t.ctx, s)
		if err != nil {
			return err
		}
		t.undos = append(t.undos, u)
		if err := t.backend.Apply(t.ctx, s, u); err != nil {
			return err
		}
	}
	return nil
}

// close ends the sandbox and undoes what outlives it.
func (t *task) close() error {
	ctx := context.WithoutCancel(t.ctx)
	var errs []error
	if t.job != nil {
		errs = append(errs, t.job.Close(ctx))
		t.job = nil
	}
	for _, u := range slices.Backward(t.undos) {
		errs = append(errs, t.backend.Revert(ctx, u))
	}
	t.undos = nil
	return errors.Join(errs...)
}

// warm returns the act of one run in the open sandbox.
func (t *task) warm(c sandbox.Command) act {
	return func() error {
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		p, err := t.job.Start(t.ctx, c)
		if err != nil {
			return err
		}
		exit, err := p.Wait(t.ctx)
		if err == nil && exit.Code != 0 {
			err = fmt.Errorf("%s ended with %d %s: %s", c.Path, exit.Code, exit.Signal, errs.String())
		}
		return err
	}
}

// cold returns the act of making a sandbox, one run in it, and destroying it.
func (t *task) cold(c sandbox.Command) act {
	run := t.warm(c)
	return func() error {
		err := t.open()
		if err == nil {
			err = run()
		}
		return errors.Join(err, t.close())
	}
}

// command is a verified program.
func command(path, dir string) (sandbox.Command, error) {
	exe, err := resolve.Executable(path)
	if err != nil {
		return sandbox.Command{}, err
	}
	return sandbox.Command{Path: exe.Path, ID: exe.ID, SHA256: exe.SHA256, Argv0: path, Dir: dir}, nil
}

// plain returns the act of starting a program with nothing around it: no pipes, no output, only fork, exec and wait.
func plain(argv ...string) act {
	return func() error {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer null.Close()
		p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Files: []*os.File{null, null, null}})
		if err != nil {
			return err
		}
		s, err := p.Wait()
		if err == nil && !s.Success() {
			err = fmt.Errorf("%s: %v", argv[0], s)
		}
		return err
	}
}
