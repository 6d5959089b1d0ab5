//go:build linux && !cgo

package linux_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux"
	"sekisho/internal/sandbox/resolve"
)

// broker is a process of its own that opens a sandbox on the directories of a fixture, runs a daemon in it, says "ready"
// and waits to be killed. It leaves its undo data behind, as a journal would.
func broker() int {
	if err := serve(os.Getenv(brokerEnv)); err != nil {
		fmt.Fprintln(os.Stderr, "broker:", err)
		return 1
	}
	return 0
}

func serve(dir string) error {
	ctx := context.Background()
	program, err := bin.Build("cmd/agent-mcp")
	if err != nil {
		return err
	}
	b, err := linux.New(linux.Options{Program: program, Files: fileop.OS()})
	if err != nil {
		return err
	}
	p := sandbox.EffectivePolicy{
		Profile:   "development",
		Network:   sandbox.NetworkPolicy{Access: sandbox.NetworkNone},
		Resources: sandbox.ResourcePolicy{MemoryMB: 256, ProcessLimit: 16, TimeoutSeconds: 60, Cgroup: cgroupSetting()},
		Task:      sandbox.TaskBinding{Instance: fmt.Sprintf("test-%d", os.Getpid()), Task: "killed", Temp: dir + "/temp", Home: dir + "/home"},
	}
	runtime, err := resolve.OSRuntime()
	if err != nil {
		return err
	}
	for _, r := range runtime {
		p.Roots = append(p.Roots, sandbox.Root{Path: r.Path, Rights: sandbox.Read | sandbox.Execute, Origins: []sandbox.Origin{sandbox.OriginOSRuntimeRoot}, ID: r.ID})
	}
	w, err := resolve.Root(dir + "/w")
	if err != nil {
		return err
	}
	p.Roots = append(p.Roots, sandbox.Root{Path: w.Path, Rights: sandbox.Read | sandbox.Write | sandbox.Delete | sandbox.Execute, Origins: []sandbox.Origin{sandbox.OriginWorkspace}, ID: w.ID})
	steps, err := b.Plan(p)
	if err != nil {
		return err
	}
	var undos []sandbox.Undo
	for _, s := range steps {
		u, err := b.Observe(ctx, s)
		if err != nil {
			return err
		}
		undos = append(undos, u)
		data, err := json.Marshal(undos)
		if err == nil {
			err = os.WriteFile(dir+"/undos", data, 0o600)
		}
		if err == nil {
			err = b.Apply(ctx, s, u)
		}
		if err != nil {
			return err
		}
	}
	job, err := b.Open(ctx, p, undos)
	if err != nil {
		return err
	}
	sh, err := resolve.Executable("/bin/sh")
	if err != nil {
		return err
	}
	run, err := job.Start(ctx, sandbox.Command{Path: sh.Path, ID: sh.ID, SHA256: sh.SHA256, Args: []string{"-c", daemon + "printf ready; sleep 1000"},
		Dir: w.Path, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		return err
	}
	_, err = run.Wait(ctx)
	return err
}

// revertBroker undoes what the killed broker had applied, as recovery does.
func (f *fixture) revertBroker(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(f.dir + "/undos")
	must(t, err)
	must(t, json.Unmarshal(data, &f.undos))
	if len(f.undos) == 0 {
		t.Error("the broker had applied nothing")
	}
	f.close()
	f.close() // repeatable
	f.undos = nil
}
