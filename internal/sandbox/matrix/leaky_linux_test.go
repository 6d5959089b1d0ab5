//go:build linux && !cgo

package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
	"sekisho/test/product"
)

// leaky is a backend that confines nothing: it runs every command as it is.
type leaky struct{}

func (leaky) Preflight(context.Context) error                                   { return nil }
func (leaky) Plan(sandbox.EffectivePolicy) ([]sandbox.Step, error)              { return nil, nil }
func (leaky) Observe(context.Context, sandbox.Step) (u sandbox.Undo, err error) { return }
func (leaky) Apply(context.Context, sandbox.Step, sandbox.Undo) error           { return nil }
func (leaky) Revert(context.Context, sandbox.Undo) error                        { return nil }
func (leaky) Open(_ context.Context, p sandbox.EffectivePolicy, _ []sandbox.Undo) (sandbox.Job, error) {
	return &leakyJob{lost: make(chan struct{})}, nil
}

type leakyJob struct{ lost chan struct{} }

func (j *leakyJob) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	if c.Admit != nil {
		if err := c.Admit(sandbox.ProofFull); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Dir, c.Stdout, c.Stderr, time.Second
	return &leakyProcess{cmd}, cmd.Start()
}
func (j *leakyJob) Lost() <-chan struct{}       { return j.lost }
func (j *leakyJob) Close(context.Context) error { return nil }

type leakyProcess struct{ cmd *exec.Cmd }

func (p *leakyProcess) Wait(context.Context) (sandbox.Exit, error) {
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return sandbox.Exit{Code: p.cmd.ProcessState.ExitCode()}, err
}

// left are the rows that must never run unconfined, because they aim at process 1, mount, or take memory until they are
// stopped, and the race, whose outcome is luck where nothing prevents it.
var left = []string{"AC-5", "AC-28", "AC-30", "AC-34", "AC-35", "AC-53", "AC-54", "ST-11"}

// granting are the rows that a backend without confinement passes: they ask for what is allowed, or for what policy and
// file tools refuse before any backend is asked.
var granting = []string{"ST-01", "ST-03", "ST-07", "ST-09", "ST-20", "AC-18", "AC-20", "AC-47", "AC-56"}

// proves A-SBX-07, A-PRI-05
//
// A row that claims a refusal is worth something only if it fails without confinement.
func TestWithoutConfinementTheRowsFail(t *testing.T) {
	var bin product.Bin
	t.Cleanup(func() { bin.Close() })
	payload, err := bin.Build("test/payload")
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Backend: leaky{}, Payload: payload, Dir: product.Dir(t), Cgroup: "auto", Instance: fmt.Sprint("leaky-", os.Getpid()), Race: 1,
		Roots: func(roots []sandbox.Root) (*rootio.Set, error) { return rootio.NewSet(fileop.OS(), roots, nil) }}
	for _, c := range Cases(env) {
		if !slices.Contains(left, c.ID) {
			env.Only = append(env.Only, c.ID)
		}
	}
	Run(t.Context(), env, func(r Row) {
		want := Failed
		if slices.Contains(granting, r.ID) {
			want = Passed
		}
		if r.ID == "ST-26" {
			want = Blocked // its fixtures need root and are given by the self-test
		}
		if r.Status != want {
			t.Errorf("%s: got %s (%s), want %s", r.ID, r.Status, r.Detail, want)
		}
	})
}
