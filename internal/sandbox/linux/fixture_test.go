//go:build linux && !cgo

package linux_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux"
	"sekisho/internal/sandbox/resolve"
	"sekisho/test/product"
)

// patience bounds every wait of a test; reaching it is a failure.
const patience = 60 * time.Second

// fixture is one task: a writable and executable workspace W, a read-only root R, and a secret S outside every root.
type fixture struct {
	t       *testing.T
	backend *linux.Backend
	policy  sandbox.EffectivePolicy
	undos   []sandbox.Undo
	job     sandbox.Job

	dir, W, R, S string
}

var serial atomic.Int64

// declare makes directories and a policy without opening anything.
func declare(t *testing.T) *fixture {
	t.Helper()
	program, err := bin.Build("cmd/agent-mcp")
	must(t, err)
	backend, err := linux.New(linux.Options{Program: program, Files: fileop.OS(), Cgroup: cgroupSetting()})
	must(t, err)
	return declareWith(t, backend)
}

// declareWith is declare with a backend that is there.
func declareWith(t *testing.T, backend *linux.Backend) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: product.Dir(t), backend: backend}
	f.W, f.R, f.S = f.dir+"/w", f.dir+"/r", f.dir+"/secret"
	for _, d := range []string{f.W, f.R, f.dir + "/temp", f.dir + "/home"} {
		must(t, os.Mkdir(d, 0o700))
	}
	must(t, os.WriteFile(f.S, []byte("secret"), 0o644))
	must(t, os.WriteFile(f.R+"/file", []byte("readable"), 0o644))
	runtime, err := resolve.OSRuntime()
	must(t, err)
	for _, r := range runtime {
		f.policy.Roots = append(f.policy.Roots, sandbox.Root{Path: r.Path, Rights: sandbox.Read | sandbox.Execute, Origins: []sandbox.Origin{sandbox.OriginOSRuntimeRoot}, ID: r.ID})
	}
	f.grant(f.W, sandbox.Read|sandbox.Write|sandbox.Delete|sandbox.Execute, sandbox.OriginWorkspace)
	f.grant(f.R, sandbox.Read, sandbox.OriginMount)
	f.policy.Profile = "development"
	f.policy.Network.Access = sandbox.NetworkNone
	f.policy.Resources = sandbox.ResourcePolicy{Profile: "normal", MemoryMB: 512, ProcessLimit: 16, TimeoutSeconds: 120, Cgroup: cgroupSetting()}
	f.policy.Task = sandbox.TaskBinding{Instance: fmt.Sprintf("test-%d", os.Getpid()), Task: fmt.Sprintf("task-%d", serial.Add(1)), Temp: f.dir + "/temp", Home: f.dir + "/home"}
	return f
}

func cgroupSetting() string {
	if c := os.Getenv(cgroupEnv); c != "" {
		return c
	}
	return "auto"
}

// grant adds a root.
func (f *fixture) grant(path string, r sandbox.Rights, origin sandbox.Origin) {
	f.t.Helper()
	var st syscall.Stat_t
	must(f.t, syscall.Lstat(path, &st))
	f.policy.Roots = append(f.policy.Roots, sandbox.Root{Path: path, File: st.Mode&syscall.S_IFMT == syscall.S_IFREG, Rights: r,
		Origins: []sandbox.Origin{origin}, ID: sandbox.FileID{Dev: uint64(st.Dev), Ino: st.Ino}})
	slices.SortFunc(f.policy.Roots, func(a, b sandbox.Root) int { return strings.Compare(a.Path, b.Path) })
}

// open applies the policy as the broker does and opens the sandbox. The cleanup proves that nothing is left.
func (f *fixture) open() *fixture {
	f.t.Helper()
	f.apply()
	var err error
	f.job, err = f.backend.Open(within(f.t), f.policy, f.undos)
	must(f.t, err)
	return f
}

// apply takes the steps of the policy. The cleanup proves that nothing is left.
func (f *fixture) apply() {
	f.t.Helper()
	ctx := within(f.t)
	steps, err := f.backend.Plan(f.policy)
	must(f.t, err)
	f.t.Cleanup(f.close)
	for _, s := range steps {
		u, err := f.backend.Observe(ctx, s)
		must(f.t, err)
		f.undos = append(f.undos, u)
		must(f.t, f.backend.Apply(ctx, s, u))
	}
}

// another closes the sandbox; the next one is another task's.
func (f *fixture) another() *fixture {
	f.t.Helper()
	f.close()
	f.undos, f.job = nil, nil
	f.policy.Task.Task += "-next"
	return f
}

// close ends the sandbox and reverts its steps; it may be called again.
func (f *fixture) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if f.job != nil {
		if err := f.job.Close(ctx); err != nil {
			f.t.Errorf("closing: %v", err)
		}
	}
	for _, u := range slices.Backward(f.undos) {
		if err := f.backend.Revert(ctx, u); err != nil {
			f.t.Errorf("reverting: %v", err)
		}
	}
}

// sandboxed is fixture with an open sandbox.
func sandboxed(t *testing.T) *fixture {
	t.Helper()
	return declare(t).open()
}

// result is how a program ended and what it said.
type result struct {
	exit     sandbox.Exit
	out, err string
	fault    error
}

// command is a verified program with arguments, to run in W.
func (f *fixture) command(path string, args ...string) sandbox.Command {
	f.t.Helper()
	exe, err := resolve.Executable(path)
	must(f.t, err)
	return sandbox.Command{Path: exe.Path, ID: exe.ID, SHA256: exe.SHA256, Argv0: path, Args: args, Dir: f.W}
}

// run starts a command and waits for its end.
func (f *fixture) run(c sandbox.Command) result {
	f.t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	p, err := f.job.Start(within(f.t), c)
	if err != nil {
		return result{fault: err}
	}
	exit, err := p.Wait(within(f.t))
	return result{exit, out.String(), errs.String(), err}
}

// sh runs a shell script inside; the control runs it unconfined.
func (f *fixture) sh(script string, args ...string) result {
	f.t.Helper()
	return f.run(f.command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...))
}

func (f *fixture) control(script string, args ...string) result {
	f.t.Helper()
	return unconfined(f.t, f.W, "/bin/sh", append([]string{"-c", script, "sh"}, args...)...)
}

// unconfined runs the same program as the same user without a sandbox.
func unconfined(t *testing.T, dir, path string, args ...string) result {
	t.Helper()
	return unconfinedAs(t, nil, dir, path, args...)
}

// unconfinedAs is unconfined as another user, unless who is nil.
func unconfinedAs(t *testing.T, who *syscall.Credential, dir, path string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(within(t), path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return result{fault: err}
	}
	return result{exit: sandbox.Exit{Code: cmd.ProcessState.ExitCode()}, out: out.String(), err: errs.String()}
}

// ok fails the test unless the program ended with 0, and returns its output.
func (r result) ok(t *testing.T) string {
	t.Helper()
	if r.fault != nil || r.exit.Code != 0 {
		t.Fatalf("ended with %+v, fault %v\nstdout: %s\nstderr: %s", r.exit, r.fault, r.out, r.err)
	}
	return r.out
}

// coded fails the test unless the run ended with the fault.
func (r result) coded(t *testing.T, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(r.fault); got != want {
		t.Fatalf("got fault %v, want %s\nexit %+v\nstdout: %s\nstderr: %s", r.fault, want, r.exit, r.out, r.err)
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func payload(t *testing.T) string {
	t.Helper()
	path, err := bin.Build("test/payload")
	must(t, err)
	return path
}

// into copies a program into a directory, executable.
func into(t *testing.T, dir, program string) string {
	t.Helper()
	data, err := os.ReadFile(program)
	must(t, err)
	path := filepath.Join(dir, filepath.Base(program))
	must(t, os.WriteFile(path, data, 0o755))
	return path
}

// networkBackend is a backend for a policy with a network.
func networkBackend(t *testing.T) *linux.Backend {
	t.Helper()
	program, err := bin.Build("cmd/agent-mcp")
	must(t, err)
	b, err := linux.New(linux.Options{Program: program, Files: fileop.OS(), Cgroup: cgroupSetting(), Network: true})
	must(t, err)
	return b
}
