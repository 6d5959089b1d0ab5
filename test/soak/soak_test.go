//go:build linux && !cgo

package soak

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/broker"
	"sekisho/internal/sandbox/linux"
	"sekisho/internal/sandbox/resolve"
	"sekisho/internal/statedir"
	"sekisho/test/product"
)

var tasks = flag.Int("tasks", 40, "how many tasks are run in a row")

// settled is how many tasks make what a server keeps for its life: pollers, threads, id mappings, pools.
const settled = 10

const patience = time.Minute

// server is a broker over the real backend, as the product assembles it.
type server struct {
	t        *testing.T
	broker   *broker.Broker
	instance *statedir.Instance
	dir, W   string
	payload  string
}

func start(t *testing.T) *server {
	t.Helper()
	bin := &product.Bin{}
	t.Cleanup(func() { bin.Close() })
	program, err := bin.Build("cmd/agent-mcp")
	must(t, err)
	s := &server{t: t, dir: product.Dir(t)}
	s.payload, err = bin.Build("test/payload")
	must(t, err)
	s.W = s.dir + "/workspace"
	must(t, os.Mkdir(s.W, 0o755))
	files := fileop.OS()
	backend, err := linux.New(linux.Options{Program: program, Files: files})
	must(t, err)
	must(t, backend.Preflight(t.Context()))
	state, err := statedir.Open(files, s.dir+"/state")
	must(t, err)
	t.Cleanup(func() { state.Close() })
	s.instance, err = state.NewInstance(t.Context())
	must(t, err)
	t.Cleanup(func() { s.instance.Close() })
	records, err := s.instance.Sub(broker.JournalDir)
	must(t, err)
	t.Cleanup(func() { records.Close() })
	s.broker = broker.New(broker.Deps{Backend: backend, Journal: journal.Open(files, records), Instance: s.instance, Policy: s.policy(), State: state, Files: files, Spares: true})
	t.Cleanup(func() { must(t, s.broker.Close(context.Background())) })
	return s
}

func (s *server) policy() sandbox.EffectivePolicy {
	p := sandbox.EffectivePolicy{Profile: "development", Network: sandbox.NetworkPolicy{Access: sandbox.NetworkNone},
		Resources: sandbox.ResourcePolicy{Profile: "normal", MemoryMB: 64, ProcessLimit: 6, TimeoutSeconds: 60, Cgroup: "auto"}}
	add := func(path string, rights sandbox.Rights, origin sandbox.Origin) {
		r, err := resolve.Root(path)
		must(s.t, err)
		p.Roots = append(p.Roots, sandbox.Root{Path: r.Path, Rights: rights, Origins: []sandbox.Origin{origin}, ID: r.ID})
	}
	system, err := resolve.OSRuntime()
	must(s.t, err)
	for _, r := range system {
		add(r.Path, sandbox.Read|sandbox.Execute, sandbox.OriginOSRuntimeRoot)
	}
	add(s.W, sandbox.Read|sandbox.Write|sandbox.Delete|sandbox.Execute, sandbox.OriginWorkspace)
	add(filepath.Dir(s.payload), sandbox.Read|sandbox.Execute, sandbox.OriginMount)
	slices.SortFunc(p.Roots, func(a, b sandbox.Root) int { return strings.Compare(a.Path, b.Path) })
	return p
}

// work is what one task does, by turns, and how its last run ends.
var work = []struct {
	script string // PAYLOAD is the hostile program
	end    fault.Code
}{
	{"echo x >file; cat file; mkdir -p $HOME/.cache/a $TMPDIR/b; echo y >$HOME/.cache/a/f; head -c 1000000 /dev/zero >/dev/shm/z", ""},
	{"PAYLOAD daemonize beat 60 >/dev/null; rm beat; (trap '' TERM; sleep 60) & exit 3", ""},
	{"PAYLOAD alloc 160; sleep 60", fault.ResourceMemoryLimit},
	{"PAYLOAD alloc-sysv 160 0; sleep 60", fault.ResourceMemoryLimit},
	{"b() { b | b & }; b; sleep 60", fault.ResourceProcessLimit},
	{"PAYLOAD daemonize beat 60 >/dev/null; rm beat; sleep 60", fault.ResourceTimeLimit},
	{"kill -SEGV $$", ""},
	{"sleep 60", fault.SandboxLost},
}

// task opens a sandbox, runs something twice in it and closes it.
func (s *server) task(n int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name, spare := fmt.Sprintf("task-%d", n), n%2 == 1 // by turns in a sandbox of its own making and in the one kept ready
	if spare {
		claim, err := s.broker.Claim(ctx, name, func(string) {})
		must(s.t, err)
		defer func() { must(s.t, claim.Release()) }()
	}
	job, err := s.broker.Open(ctx, "soak", name)
	must(s.t, err)
	if job.FromSpare() != spare {
		s.t.Errorf("task %d: from the spare: %v", n, job.FromSpare())
	}
	w := work[n%len(work)]
	sh, err := resolve.Executable("/bin/sh")
	must(s.t, err)
	run := func(script string, limit time.Duration, lost bool) fault.Code {
		var out bytes.Buffer
		p, err := job.Start(ctx, sandbox.Command{Path: sh.Path, ID: sh.ID, SHA256: sh.SHA256, Dir: s.W, Stdout: &out, Stderr: &out, Timeout: limit,
			Args: []string{"-c", strings.ReplaceAll(script, "PAYLOAD", s.payload)}})
		if err == nil && lost {
			err = syscall.Kill(s.one(), syscall.SIGKILL)
		}
		if err == nil {
			_, err = p.Wait(ctx)
		}
		if err != nil && fault.CodeOf(err) == "" {
			s.t.Fatalf("task %d: %v %s", n, err, out.String())
		}
		return fault.CodeOf(err)
	}
	if got := run("echo begin", 0, false); got != "" {
		s.t.Errorf("task %d: the first run: %s", n, got)
	}
	limit := time.Duration(0)
	if w.end == fault.ResourceTimeLimit {
		limit = 400 * time.Millisecond
	}
	if got := run(w.script, limit, w.end == fault.SandboxLost); got != w.end {
		s.t.Errorf("task %d: %s ended with %q, want %q", n, w.script, got, w.end)
	}
	must(s.t, job.Close(ctx))
	if err := os.Remove(s.W + "/beat"); !errors.Is(err, fs.ErrNotExist) { // the script's own file; a limit may come before its rm
		must(s.t, err)
	}
}

// one is PID 1 of the sandbox, the only child of the launcher, which is the only child of this process.
func (s *server) one() int {
	s.t.Helper()
	pids := children(os.Getpid())
	if len(pids) == 1 {
		pids = children(pids[0])
	}
	if len(pids) != 1 {
		s.t.Fatalf("children: %v", pids)
	}
	return pids[0]
}

// proves A-SBX-02, A-SBX-11, A-TX-01, A-TX-05
func TestManyTasksLeaveNothing(t *testing.T) {
	goroutines := goleak.IgnoreCurrent()
	s := start(t)
	defer func() { goleak.VerifyNone(t, goroutines) }()
	for n := range settled {
		s.task(n)
	}
	before := s.look()
	begun := time.Now()
	for n := range *tasks {
		s.task(n)
	}
	took := time.Since(begun)
	after := s.settle(before)
	for _, what := range after.left(before) {
		t.Errorf("after %d tasks: %s", *tasks, what)
	}
	t.Logf("%d tasks in %v: %s", *tasks, took.Round(time.Millisecond), after.since(before))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
