package tool

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/resolve"
)

func (w *world) mode(rel string) string {
	w.t.Helper()
	if err := os.Chmod(w.base+"/"+rel, 0o755); err != nil {
		w.t.Fatal(err)
	}
	return w.base + "/" + rel
}

// proves A-TOOL-04, A-POL-04, A-POL-05, A-SBX-02, A-AUD-01
func TestRunStartsWhatWasJudged(t *testing.T) {
	w := newWorld(t)
	w.write("app/bin/tool", "\x7fELF artifact")
	w.mode("app/bin/tool")
	w.write("rt/lib/helper", "\x7fELF component")
	w.mode("rt/lib/helper")
	w.link(w.ws+"/bin/tool", "app/alias-link")
	w.open()
	entry := w.policy.Entries[0]
	for _, tc := range []struct {
		name, executable, path, alias string
	}{
		{"alias", "Go", entry.Path, "Go"},
		{"alias in another case", "gO", entry.Path, "Go"},
		{"artifact, absolute", w.ws + "/bin/tool", w.ws + "/bin/tool", ""},
		{"artifact, from cwd", "./tool", w.ws + "/bin/tool", ""},
		{"artifact, bare name", "tool", w.ws + "/bin/tool", ""},
		{"artifact through a link", "../alias-link", w.ws + "/bin/tool", ""},
		{"component", w.rt + "/lib/helper", w.rt + "/lib/helper", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			*w.job = fakeJob{proof: sandbox.ProofUnchanged, stdout: "out", stderr: "err", exit: sandbox.Exit{Elapsed: 1500 * time.Millisecond}}
			w.audit.reset()
			r := w.call("process_run", arg{"executable": tc.executable, "args": []string{"-v", "a b"}, "cwd": "bin", "timeout_seconds": 60, "stdin": "in"})
			h, body := split(t, r)
			if !r.OK || !r.SideEffect || h["exit_code"] != 0.0 || h["elapsed_ms"] != 1500.0 || body != "stdout (3 bytes):\nout\nstderr (3 bytes):\nerr" {
				t.Fatalf("got %+v", r)
			}
			now, err := resolve.Executable(tc.path)
			if err != nil {
				t.Fatal(err)
			}
			want := sandbox.Command{Path: tc.path, ID: now.ID, SHA256: now.SHA256, Args: []string{"-v", "a b"}, Dir: w.ws + "/bin", Stdin: []byte("in"), Timeout: time.Minute}
			got := w.job.started[0]
			if got.Timeout > want.Timeout || got.Timeout < want.Timeout/2 { // reading the program counts into it
				t.Errorf("time limit %s", got.Timeout)
			}
			want.Timeout = got.Timeout
			got.Stdout, got.Stderr, got.Admit = nil, nil, nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"tool.call allow", "process.start allow", "process.exit"}, w.audit.names()); diff != "" {
				t.Fatalf("audit (-want +got):\n%s", diff)
			}
			start, exit := w.audit.events[1], w.audit.events[2]
			if start.Exe != tc.path || start.Hash != "unchanged" || start.Alias != tc.alias || start.SHA256 != now.SHA256 || *start.ArgumentCount != 2 || *exit.ExitCode != 0 || exit.Exe != tc.path {
				t.Errorf("audit: %+v %+v", start, exit)
			}
			if strings.Contains(w.audit.text(), "a b") {
				t.Error("an argument is in the audit")
			}
		})
	}
}

// proves A-SBX-02
func TestRunTimeoutIsTheSmallerOne(t *testing.T) {
	w := newWorld(t).open()
	for _, tc := range []struct {
		args arg
		want time.Duration
	}{{arg{}, 120 * time.Second}, {arg{"timeout_seconds": 119}, 119 * time.Second}, {arg{"timeout_seconds": 86400}, 120 * time.Second}} {
		w.job.started = nil
		w.call("process_run", arg{"executable": "go", "args": []string{}, "cwd": "."}.with(tc.args))
		if got := w.job.started[0].Timeout; got > tc.want || got < tc.want-time.Second {
			t.Errorf("%v: %v, want %v", tc.args, got, tc.want)
		}
	}
}

// proves A-POL-05, A-POL-04, A-TOOL-04, A-TOOL-09, A-AUD-01
func TestRunRefuses(t *testing.T) {
	w := newWorld(t)
	w.write("app/script", "#!/bin/sh\nid\n")
	w.write("app/bash", "\x7fELF")
	w.write("ro/prog", "\x7fELF")
	w.write("app/file", "x")
	w.link(w.base+"/tools-go", "app/go-by-link")
	w.fifo("app/pipe")
	w.open()
	for _, tc := range []struct {
		name, executable, cwd string
		code                  fault.Code
		reason                string
	}{
		{"unknown alias", "python", ".", fault.ExecutableApprovalMissing, "not_allowlisted"},
		{"system program", "/bin/true", ".", fault.ExecutableApprovalMissing, "not_allowlisted"},
		{"missing system program", "/bin/no-such-program", ".", fault.ExecutableApprovalMissing, "not_allowlisted"},
		{"path for an alias", w.base + "/tools-go", ".", fault.PolicyDenied, "alias_required"},
		{"link for an alias", "go-by-link", ".", fault.PolicyDenied, "alias_required"},
		{"program of a mount", w.ro + "/prog", ".", fault.ExecutableApprovalMissing, "not_allowlisted"},
		{"shell in the workspace", "./bash", ".", fault.ExecutableShellUnsupported, "shell"},
		{"FIFO", "./pipe", ".", fault.PolicyDenied, "special_file"},
		{"outside by dots", "../out/prog", ".", fault.ExecutableApprovalMissing, "not_allowlisted"},
		{"script of an interpreter that nobody granted", "./script", ".", fault.ExecutableScriptInvalid, "outside"},
		{"missing file", "./none", ".", fault.ToolFailed, ""},
		{"directory", w.ws, ".", fault.ToolFailed, ""},
		{"cwd is a file", "go", "file", fault.ToolFailed, ""},
		{"cwd missing", "go", "none", fault.ToolFailed, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w.audit.reset()
			r := w.call("process_run", arg{"executable": tc.executable, "args": []string{"x"}, "cwd": tc.cwd})
			if r.OK || r.ErrorCode != tc.code || r.SideEffect {
				t.Fatalf("got %+v, want %s", r, tc.code)
			}
			names := w.audit.names()
			if tc.reason != "" {
				if diff := cmp.Diff([]string{"policy.deny " + tc.reason, "process.start deny", "tool.call deny"}, names); diff != "" {
					t.Errorf("audit (-want +got):\n%s", diff)
				}
				if r.RetryAllowed || w.audit.events[0].Kind != audit.KindProcess {
					t.Errorf("got %+v %+v", r, w.audit.events[0])
				}
			} else if names[len(names)-1] != "tool.call deny" {
				t.Errorf("audit has %q", names)
			}
		})
	}
	if len(w.job.started) != 0 || w.job.opened != 0 {
		t.Errorf("started %v", w.job.started)
	}
}

// proves A-POL-04
func TestRunVerifiesApprovedProgram(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(path string) error
		code   fault.Code
	}{
		"edited":   {func(p string) error { return os.WriteFile(p, []byte("other bytes"), 0o644) }, fault.ExecutableHashChanged},
		"gone":     {os.Remove, fault.ExecutableResolutionChanged},
		"now link": {func(p string) error { return errors.Join(os.Rename(p, p+"2"), os.Symlink(p+"2", p)) }, fault.ExecutableResolutionChanged},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).open()
			if err := tc.change(w.policy.Entries[0].Path); err != nil {
				t.Fatal(err)
			}
			r := w.call("process_run", arg{"executable": "go", "args": []string{}, "cwd": "."})
			if r.OK || r.ErrorCode != tc.code || r.ErrorCategory != fault.PolicyDeny || r.RetryAllowed || w.job.opened != 0 {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// proves A-ERR-02, A-SBX-02, A-SBX-09, A-AUD-01
func TestRunEndings(t *testing.T) {
	limit := fault.New(fault.ResourceTimeLimit)
	for name, tc := range map[string]struct {
		job      fakeJob
		code     fault.Code
		category fault.Category
		retry    bool
		fatal    bool
		say      string
		limit    string
	}{
		"exit code":       {fakeJob{stdout: "FAIL: TestX", exit: sandbox.Exit{Code: 3}}, fault.ToolFailed, fault.ToolFailure, true, false, "exit code 3", ""},
		"signal":          {fakeJob{stderr: "FAIL: TestX", exit: sandbox.Exit{Code: -1, Signal: "SIGSEGV"}}, fault.ToolFailed, fault.ToolFailure, true, false, "SIGSEGV", ""},
		"time limit":      {fakeJob{stdout: "FAIL: TestX", waitErr: limit}, fault.ResourceTimeLimit, fault.ResourceLimit, false, false, "time limit", string(fault.ResourceTimeLimit)},
		"lost":            {fakeJob{waitErr: fault.New(fault.SandboxLost)}, fault.SandboxLost, fault.ToolFailure, false, true, "sandbox", ""},
		"no sandbox":      {fakeJob{openErr: fault.New(fault.SandboxFailed)}, fault.SandboxFailed, fault.ToolFailure, false, true, "sandbox", ""},
		"no sandbox, raw": {fakeJob{openErr: errors.New("clone: EAGAIN")}, fault.SandboxFailed, fault.ToolFailure, false, true, "sandbox", ""},
		"not cleaned":     {fakeJob{startErr: fault.New(fault.RecoveryFailed)}, fault.RecoveryFailed, fault.RecoveryFailure, false, true, "", ""},
		"exec format":     {fakeJob{startErr: fault.New(fault.ExecutableStartFailed, fault.Cause(syscall.ENOEXEC))}, fault.ExecutableStartFailed, fault.ToolFailure, true, false, "exec format error", ""},
		"busy":            {fakeJob{startErr: syscall.ETXTBSY}, fault.ExecutableStartFailed, fault.ToolFailure, true, false, "text file busy", ""},
		"changed at exec": {fakeJob{startErr: fault.New(fault.ExecutableHashChanged)}, fault.ExecutableHashChanged, fault.PolicyDeny, false, false, "no longer", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).open()
			*w.job = tc.job
			r := w.call("process_run", arg{"executable": "go", "args": []string{}, "cwd": "."})
			if r.OK || r.SideEffect || r.ErrorCode != tc.code || r.ErrorCategory != tc.category || r.RetryAllowed != tc.retry || (r.Fatal != nil) != tc.fatal {
				t.Fatalf("got %+v", r)
			}
			if !strings.Contains(r.Content, tc.say) {
				t.Errorf("says %q, want %q in it", r.Content, tc.say)
			}
			if strings.Contains(tc.job.stdout+tc.job.stderr, "TestX") && !strings.Contains(r.Content, "FAIL: TestX") {
				t.Errorf("the output is lost: %s", r.Content)
			}
			exits := 0
			for _, e := range w.audit.events {
				if e.Event == audit.ProcessExit {
					exits++
					if e.Limit != tc.limit || tc.job.exit.Code != 0 && *e.ExitCode != tc.job.exit.Code || tc.job.exit.Code == 0 && e.ErrorCode != string(tc.code) {
						t.Errorf("process.exit: %+v", e)
					}
				}
			}
			if exits != 1 {
				t.Errorf("%d process.exit lines, want 1", exits)
			}
		})
	}
}

// proves A-TOOL-04
func TestRunBoundsOutput(t *testing.T) {
	w := newWorld(t).open()
	w.job.stdout = "first\n" + strings.Repeat("x", 10<<20) + "\nlast\x1b]0;t\a"
	r := w.call("process_run", arg{"executable": "go", "args": []string{}, "cwd": "."})
	h, body := split(t, r)
	if len(body) > 2*streamBytes || h["truncated"] != true || !strings.HasPrefix(body, "stdout (10485777 bytes):\nfirst\n") || !strings.Contains(body, "bytes left out") ||
		!strings.Contains(body, `last\x1b]0;t\x07`+"\nstderr (0 bytes):\n") {
		t.Errorf("%d bytes, header %v, %.60q … %q", len(body), h, body, body[len(body)-80:])
	}
}

// A program whose end cannot be recorded is the last thing that happens.
//
// proves A-AUD-01
func TestRunEndMustBeAudited(t *testing.T) {
	w := newWorld(t).open()
	w.audit.failAt = 3
	r := w.call("process_run", arg{"executable": "go", "args": []string{}, "cwd": "."})
	if len(w.job.started) != 1 || r.OK || r.SideEffect || r.Fatal == nil || r.ErrorCode != fault.StateUnusable {
		t.Errorf("got %+v", r)
	}
}

// Reading a program that the task made ends with its call, and what cannot be read in useful time is refused.
//
// proves A-SBX-02, A-POL-04, A-STOP-01
func TestHugePrograms(t *testing.T) {
	w := newWorld(t)
	for name, size := range map[string]int64{"endless": 4 << 40, "long": resolve.MaxHashed} {
		w.write("app/bin/"+name, "\x7fELF")
		if err := os.Truncate(w.mode("app/bin/"+name), size); err != nil {
			t.Fatal(err)
		}
	}
	w.open()
	run := func(ctx context.Context, name string, seconds int) (agent.ToolResult, time.Duration) {
		begun := time.Now()
		r := w.callWith(ctx, "process_run", arg{"executable": "./" + name, "args": []string{}, "cwd": "bin", "timeout_seconds": seconds, "stdin": nil})
		return r, time.Since(begun)
	}
	if r, _ := run(t.Context(), "endless", 60); r.ErrorCode != fault.ToolFailed || !strings.Contains(r.Content, "larger than 4 GiB") {
		t.Errorf("a program of 4 TiB: %+v", r)
	}
	if r, took := run(t.Context(), "long", 1); r.ErrorCode != fault.ResourceTimeLimit || !strings.Contains(r.UserText, "1") || took > 3*time.Second {
		t.Errorf("a program of 4 GiB within 1 s: %+v after %s", r, took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if r, took := run(ctx, "long", 60); r.ErrorCode != fault.AgentCancelled || took > 2*time.Second {
		t.Errorf("a cancelled call: %+v after %s", r, took)
	}
	if len(w.job.started) != 0 {
		t.Errorf("%d programs were started", len(w.job.started))
	}
}
