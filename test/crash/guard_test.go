//go:build linux && !cgo

package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/test/agentsite"
)

// plant makes a hook where none was and an environment, and a repository of its own.
const plant = `mkdir -p .git/hooks sub && echo 'touch pwned' >.git/hooks/post-commit && chmod 755 .git/hooks/post-commit && echo 'touch pwned' >sub/.envrc && git init -q made && git -C made -c user.name=a -c user.email=a@b commit -q --allow-empty -m x`

// onlyRuns is a task of one program.
func onlyRuns(text string) string {
	call := edit{tool: "process_run", arguments: `{"executable":"sh","args":["-c",` + quote(text) + `],"cwd":"WORKSPACE","timeout_seconds":600,"stdin":null}`}
	return strings.Replace(script([]edit{call}), "[file_edit, dir, process_run]", "[process_run]", 1)
}

// quarantined returns the files below the quarantines, by their content.
func (s *site) quarantined() map[string]string {
	found := map[string]string{}
	for _, pattern := range []string{"/quarantine/*/*", "/quarantine/*/*/*"} {
		paths, _ := filepath.Glob(s.StateRoot() + pattern)
		for _, p := range paths {
			if b, err := os.ReadFile(p); err == nil {
				found[strings.TrimSpace(string(b))] = p
			}
		}
	}
	return found
}

func (s *site) judgePlanted(t *testing.T) {
	t.Helper()
	for _, p := range []string{"/.git/hooks", "/sub/.envrc"} {
		if _, err := os.Lstat(s.workspace + p); err == nil {
			t.Errorf("%s is still in the workspace", p)
		}
	}
	if s.quarantined()["touch pwned"] == "" {
		t.Errorf("not in quarantine: %v", s.quarantined())
	}
	if st, err := os.Stat(s.StateRoot() + "/quarantine"); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the quarantine: %v, %v", st, err)
	}
	cmd := exec.Command("git", "-C", s.workspace+"/made", "log", "--oneline")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the repository that the task made: %v\n%s", err, out)
	}
	audit, err := os.ReadFile(s.StateRoot() + "/logs/audit.jsonl")
	if err != nil || !strings.Contains(string(audit), s.workspace+"/.git/hooks") || !strings.Contains(string(audit), s.workspace+"/sub/.envrc") {
		t.Errorf("the audit does not tell it: %v\n%s", err, audit)
	}
}

// What a program of the task leaves for the host's tools is moved away, told and audited; the task itself is completed.
//
// proves A-POL-13, A-AUD-01
func TestPlantedHooksAreMovedAway(t *testing.T) {
	s := newSite(t, onlyRuns(plant))
	c, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, s.log())
	}
	status, err := run(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"status: completed", "last_error_code: policy.denied", s.workspace + "/.git/hooks", s.StateRoot() + "/quarantine/"} {
		if !strings.Contains(status, want) {
			t.Errorf("agent_status lacks %q:\n%s", want, status)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, s.log())
	}
	s.judgePlanted(t)
	if err := s.leftovers(); err != nil {
		t.Errorf("left behind: %v", err)
	}
	if left, err := os.ReadDir(s.StateRoot() + "/locks"); err != nil || len(left) > 0 {
		t.Errorf("locks are left: %v, %v", left, err)
	}
}

// The same when the server is killed while the program runs: the next start moves it.
//
// proves A-POL-13, A-TX-04, A-TX-01
func TestPlantedHooksAreMovedAfterAKill(t *testing.T) {
	s := newSite(t, onlyRuns(plant+`; touch planted; sleep 600`))
	c, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, s.log())
	}
	if _, err := c.Run("do it"); err != nil {
		t.Fatal(err)
	}
	agentsite.Poll(t, "the program to plant it", func() bool { _, err := os.Stat(s.workspace + "/planted"); return err == nil })
	if err := c.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, err := os.Stat(s.workspace + "/.git/hooks/post-commit"); err != nil {
		t.Fatalf("blocked: nothing was planted: %v", err)
	}
	s.restart()
	s.judgePlanted(t)
}

// With allow_tool_config_writes nothing is protected and nothing moved.
//
// proves A-POL-13
func TestToolConfigWritesCanBeAllowed(t *testing.T) {
	s := newSite(t, onlyRuns(plant))
	if err := s.Configure(allowed + "  allow_tool_config_writes: true\n"); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Command("apply", s.Config, "--yes").CombinedOutput(); err != nil || !strings.Contains(string(out), "allow_tool_config_writes") {
		t.Fatalf("apply: %v\n%s", err, out)
	}
	c, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, s.log())
	}
	if status, err := run(c); err != nil || !strings.Contains(status, "status: completed") || !strings.Contains(status, "last_error_code:\n") {
		t.Errorf("%v\n%s", err, status)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, p := range []string{"/.git/hooks/post-commit", "/sub/.envrc"} {
		if _, err := os.Stat(s.workspace + p); err != nil {
			t.Error(err)
		}
	}
}

// A server is killed while its program has planted hooks; another one, which was there all the time, takes the workspace. It
// first moves what the dead one left, or its own task would take that for the user's.
//
// proves A-POL-13, A-TX-08, A-TX-04
func TestTheNextServerCleansAWorkspaceThatItTakes(t *testing.T) {
	s := newSite(t, onlyRuns(`if [ -e planted ]; then touch second; else `+plant+`; touch planted; sleep 600; fi`))
	first, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("start: %v\n%s", err, s.log())
	}
	second, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("the second server: %v\n%s", err, s.log())
	}
	if _, err := first.Run("do it"); err != nil {
		t.Fatal(err)
	}
	agentsite.Poll(t, "the program to plant it", func() bool { _, err := os.Stat(s.workspace + "/planted"); return err == nil })
	if err := first.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Close()
	if _, err := os.Stat(s.workspace + "/.git/hooks/post-commit"); err != nil {
		t.Fatalf("blocked: nothing was planted: %v", err)
	}
	if _, err := run(second); err != nil { // how it ends does not matter
		t.Errorf("the second task: %v", err)
	}
	s.judgePlanted(t)
	if err := second.Close(); err != nil {
		t.Errorf("the second server ended with %v\n%s", err, s.log())
	}
	if err := s.leftovers(); err != nil {
		t.Errorf("left behind: %v", err)
	}
}

// Two servers of one user, one workspace: the second task stays queued and says which root it waits for; when the first
// server is killed it gets its turn.
//
// proves A-TX-08
func TestTwoServersTakeTurnsInAWorkspace(t *testing.T) {
	s, first := startBusy(t)
	second, err := s.start(s.product, 0)
	if err != nil {
		t.Fatalf("the second server: %v\n%s", err, s.log())
	}
	task, err := second.Run("do it")
	if err != nil {
		t.Fatal(err)
	}
	var status string
	agentsite.Poll(t, "the second task to say what it waits for", func() bool {
		if status, err = second.Status(task); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(status, "another task works in "+s.workspace)
	})
	if !strings.Contains(status, "status: queued") {
		t.Errorf("while it waits:\n%s", status)
	}
	if err := first.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Close()
	agentsite.Poll(t, "the second task to run", func() bool {
		status, err = second.Status(task)
		if err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(status, "status: queued")
	})
	if err := second.Close(); err != nil {
		t.Errorf("the second server ended with %v\n%s", err, s.log())
	}
	s.restart()
}
