//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"sekisho/test/mutants/guard"
)

const (
	// perRun bounds one test run, which builds the product if the test runs it. A test that only hangs without its guard names
	// nothing, so it does not count.
	perRun = 4 * time.Minute
	// perControl bounds the run of all killers of a package.
	perControl = 5 * time.Minute
)

// runner builds test programs of the module and runs them.
type runner struct {
	root string
	// sandboxes is held while a test makes real sandboxes: they share control groups, users and their limits.
	sandboxes sync.Mutex
}

// judge removes one guard and tells whether its test notices. unfit is why the test is no judge at all, or "".
func (r *runner) judge(ctx context.Context, dir string, g guard.Guard, unfit string) outcome {
	start := time.Now()
	o := outcome{Guard: g.Name, IDs: g.IDs, File: g.In, Test: g.Test, Package: g.Package, Says: unfit}
	if unfit == "" {
		var err error
		o.File, o.Says, o.Left, o.Killed, err = r.without(ctx, dir, g)
		if err != nil {
			o.Says, o.Killed = err.Error(), false
		}
	}
	o.Seconds = time.Since(start).Seconds()
	return o
}

func (r *runner) without(ctx context.Context, dir string, g guard.Guard) (file, says string, left []string, killed bool, err error) {
	m, err := r.mutate(ctx, dir, g)
	if err != nil {
		return m.file, "", nil, false, err
	}
	out, late, left, err := r.run(ctx, m, "^"+g.Test+"$", perRun)
	if err != nil {
		return m.file, "", left, false, err
	}
	v := judge(out, g.Test, late)
	return m.file, v.says, left, v.killed, nil
}

// tests is a test program, of the module as it is or without a guard.
type tests struct {
	program string
	pkg     string // of the module
	sandbox bool
	overlay string // the compiler's, "" for none
	file    string // that holds the guard
}

// mutate builds the program of g's killer in dir, without the guard.
func (r *runner) mutate(ctx context.Context, dir string, g guard.Guard) (tests, error) {
	t := tests{program: filepath.Join(dir, "killer.test"), pkg: g.Package, overlay: filepath.Join(dir, "overlay.json"), file: g.In}
	file, mutated, err := guard.Locate(r.root, g)
	if err != nil {
		return t, err
	}
	t.file = file
	killer, err := guard.FindKiller(r.root, g)
	if err != nil || killer == nil {
		return t, errors.Join(err, fmt.Errorf("%s has no test %s", g.Package, g.Test))
	}
	t.sandbox = killer.Sandbox
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return t, err
	}
	text := filepath.Join(dir, "mutated.go")
	if err := os.WriteFile(text, mutated, 0o600); err != nil {
		return t, err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(r.root, filepath.FromSlash(file)): text}})
	if err != nil {
		return t, err
	}
	if err := os.WriteFile(t.overlay, replace, 0o600); err != nil {
		return t, err
	}
	return t, r.build(ctx, t)
}

// environment lets the overlay reach everything that is built, also the product that a test builds for itself.
func environment(overlay string, sandbox bool) []string {
	cgo, flags := "CGO_ENABLED=1", "-buildvcs=false -ldflags=-w"
	if sandbox {
		cgo = "CGO_ENABLED=0"
	}
	if overlay != "" {
		flags += " -overlay=" + overlay
	}
	return append(os.Environ(), cgo, "GOFLAGS="+flags)
}

func (r *runner) build(ctx context.Context, t tests) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", t.program, "./"+t.pkg)
	cmd.Dir, cmd.Env = r.root, environment(t.overlay, t.sandbox)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("does not build: %w\n%s", err, tail(string(out)))
	}
	return nil
}

// run returns what the tests said, whether they had to be ended because of the time, and what they left behind, which has ended.
func (r *runner) run(ctx context.Context, t tests, names string, limit time.Duration) (out string, late bool, left []string, err error) {
	before := map[string]bool{}
	if t.sandbox {
		r.sandboxes.Lock()
		defer r.sandboxes.Unlock()
		before = groups()
	}
	bounded, cancel := context.WithTimeout(ctx, limit+10*time.Second) // the test's own limit comes first and tells where it hangs
	defer cancel()
	cmd := exec.CommandContext(bounded, "/proc/self/exe", alone, t.program, "-test.v=test2json", "-test.timeout="+limit.String(), "-test.run="+names)
	cmd.Dir, cmd.Env = filepath.Join(r.root, filepath.FromSlash(t.pkg)), environment(t.overlay, t.sandbox)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 25 * moment // the ending of what is left, too
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err = cmd.Run()
	var exit *exec.ExitError
	out, left = leftovers(text.String())
	if t.sandbox {
		for _, dir := range clear(before) {
			left = append(left, "control group "+dir)
		}
	}
	switch {
	case ctx.Err() != nil:
		return "", false, left, ctx.Err()
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return "", false, left, err
	}
	return out, bounded.Err() != nil, left, nil
}

func tail(s string) string {
	const most = 1500
	s = strings.TrimSpace(s)
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}
