//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sekisho/test/agentsite"
)

// crashes kills the server at every durable step of making and removing the task's grants (control groups and journal),
// and once while a program and its daemon run. After the next start nothing may be left.
func crashes(sc *scene) {
	const call = `{name: process_run, arguments: {executable: tool, args: ["-c", "echo x > by-process"], cwd: WORKSPACE, timeout_seconds: 30, stdin: null}}`
	whole := sc.applied(answering(call))
	if whole == nil {
		return
	}
	if err := whole.crash(0); err != nil {
		sc.Block("undisturbed", "%v", err)
		return
	}
	effects := strings.Split(strings.TrimSpace(whole.read(whole.dir+"/trace")), "\n")
	seen, kills := false, 0
	for i, effect := range effects {
		if !grant(effect) && (i == 0 || !grant(effects[i-1])) {
			continue
		}
		s := sc.applied(answering(call))
		if s == nil {
			return
		}
		err := s.crash(i + 1)
		if !killed(err) {
			sc.Fail(effect, "the server was to die there: %v", err)
			continue
		}
		kills++
		if s.leftovers() != nil {
			seen = true // the control of what follows: a crash does leave something
		}
		s.cleaned(fmt.Sprintf("killed at %d: %s", i+1, effect))
	}
	if !seen || kills < 5 {
		sc.Block("the kills", "%d kills, and they left nothing to be cleaned: %v", kills, !seen)
	}
	crashWhileRunning(sc)
}

// grant tells whether an effect belongs to the grants of a task: its control groups, or the journal.
func grant(effect string) bool {
	_, path, _ := strings.Cut(effect, " ")
	return strings.Contains(path, "/sys/fs/cgroup") || !strings.HasPrefix(path, "/") || strings.Contains(path, "/recovery/")
}

func crashWhileRunning(sc *scene) {
	s := sc.applied(answering(`{name: process_run, arguments: {executable: tool, args: ["-c", "(trap '' TERM; while echo . >> beat; do sleep 0.1; done) & echo x > started; sleep 100"], cwd: WORKSPACE, timeout_seconds: 120, stdin: null}}`))
	if s == nil {
		return
	}
	c, err := s.serve(sc.program, 0)
	if err == nil {
		_, err = c.Run("do it")
	}
	if err != nil || !s.await(30*time.Second, func() bool { return s.read(s.workspace+"/started") != "" && s.read(s.workspace+"/beat") != "" }) {
		sc.Block("while a program runs", "it did not start: %v %s", err, c.log())
	}
	size := len(s.read(s.workspace + "/beat"))
	if !s.await(3*time.Second, func() bool { return len(s.read(s.workspace+"/beat")) > size }) {
		sc.Block("while a program runs", "its daemon has no heartbeat")
	}
	c.Cmd.Process.Kill()
	c.Close()
	last, since := -1, time.Now()
	s.await(30*time.Second, func() bool {
		if now := len(s.read(s.workspace + "/beat")); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond // it beats every 100 ms
	})
	grew := s.await(time.Second, func() bool { return len(s.read(s.workspace+"/beat")) > last })
	sc.Check("the daemon of a killed server", !grew, "it lives on before any recovery")
	s.cleaned("while a program runs")
}

// crash runs the site's task under the server that kills itself at its n-th durable effect.
func (s *site) crash(n int) error {
	c, err := s.serve(s.sc.crashing, n)
	if err == nil {
		_, err = c.runs()
	}
	if end := c.Close(); end != nil {
		return end
	}
	return err
}

// cleaned starts the product on what a crash left, ends it, and requires that nothing is left.
func (s *site) cleaned(when string) {
	if ok, log := s.starts(); !ok {
		s.sc.Fail(when, "the next start failed: %.500s", log)
		return
	}
	err := s.leftovers()
	s.sc.Check(when, err == nil, "left behind: %v", err)
}

func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// leftovers looks for an instance directory, a control group or a process of the site's servers.
func (s *site) leftovers() error {
	var errs []error
	if left, err := os.ReadDir(s.dir + "/state/agent-mcp/instances"); err != nil || len(left) > 0 {
		errs = append(errs, fmt.Errorf("instances %v %v", left, err))
	}
	names, _ := filepath.Glob(s.dir + "/stderr-*") // the pattern is well-formed
	var logs []string
	for _, name := range names {
		logs = append(logs, s.read(name))
	}
	return errors.Join(append(errs, agentsite.Traces(logs...))...)
}
