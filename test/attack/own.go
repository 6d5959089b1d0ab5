//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ownAttacks were found by attacking this product.
var ownAttacks = []attack{
	{id: "60", set: settings{more: "  temp_mb: 64\n"}, play: func(w *world) {
		for what, how := range map[string]string{"": "plain", " by an undumpable program": "undumpable"} {
			control := w.outside("fill-unnamed", how, "W/unnamed", "200", "1")
			o := w.run("payload", "-told", "fill-unnamed", how, "/tmp/unnamed", "200", "20")
			w.check("200 MiB in a file of TEMP without a name"+what, control.OK && o.Code == "resource.storage_limit", "ended by the cap of 64 MiB: %v; the control kept them", o.Code)
		}
		err := errors.Join(copyFile(w.real.Payload, w.real.W+"/closed"), os.Chmod(w.real.W+"/closed", 0o111))
		o := w.run("sh", "-c", w.real.W+"/closed -told fill-unnamed plain /tmp/unnamed 200 20")
		w.check("the same by a program that may be executed but not read", err == nil && o.Code == "resource.storage_limit", "ended by the cap: %v", o.Code)
	}},
	{id: "61", play: func(w *world) {
		for _, how := range []string{"mmap", "memfd"} {
			w.refused(attempt{"the host's huge pages by " + how, []string{"huge-pages", how, "0"}, reached, "this kernel has no huge pages"})
		}
	}},
	{id: "62", play: func(w *world) {
		for _, name := range []string{"keys", "key-users", "cmdline"} {
			w.refused(attempt{"/proc/" + name, []string{"read", "/proc/" + name}, func(_ *layout, o output) bool { return o.OK && o.Detail != "" }, "this kernel says nothing there"})
		}
		for _, path := range []string{"/proc/self/oom_score_adj", "/proc/self/coredump_filter", "/proc/self/uid_map", "/proc/self/timens_offsets", "/proc/self/mem", "/proc/self/clear_refs", "/proc/self/attr/exec",
			"/proc/self/setgroups", "/proc/self/comm", "/proc/self/loginuid", "/proc/self/autogroup", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"} {
			cannot := ""
			if os.Geteuid() != 0 {
				cannot = "this user may not, unconfined, either"
			}
			if !there(path) {
				cannot = "this kernel has no such file"
			}
			// Opened only: unconfined, a write would reach this machine.
			w.refused(attempt{"open " + path + " for writing", []string{"open-write", path}, reached, cannot})
		}
	}},
	{id: "63", set: settings{before: both(gitRepository)}, play: rebaseCommands},
	{id: "64", set: settings{before: both(func(l *layout) error {
		return errors.Join(os.MkdirAll(l.W+"/a/b", 0o755), os.MkdirAll(l.Dir+"/outside/x", 0o755), os.Symlink(l.Dir+"/outside", l.W+"/b"), write(l.W+"/c", "x"), os.Mkdir(l.W+"/e", 0o755))
	})}, play: func(w *world) {
		ended, n, failures, over := 0, 0, map[string]int{}, false
		for limit := time.Now().Add(time.Minute); !over && (ended < 5 || n <= 1000) && time.Now().Before(limit); {
			stop1, stop2 := w.swapping(w.real.W+"/a", w.real.W+"/b"), w.swapping(w.real.W+"/c", w.real.W+"/e")
			for end := time.Now().Add(3 * time.Second); !over && time.Now().Before(end); {
				o := w.sh("mkdir -p .husky " + w.real.W + "/n/.vscode; echo x >" + w.real.W + "/n/.vscode/tasks.json")
				failures[o.Code]++
				if _, err := w.v.finish(w.ctx); err != nil {
					failures[err.Error()]++
					over = true
				} else {
					ended++
				}
			}
			n += stop1() + stop2()
		}
		o := w.inside("ids")
		w.check(fmt.Sprintf("%d tasks end while names of their workspace are replaced (%d times)", ended, n), ended >= 5 && n > 1000 && o.OK && !there(w.real.W+"/n/.vscode"), "the server lives, nothing planted is left: %v", failures)
	}},
	{id: "65", play: bounded},
	{id: "67", set: settings{elsewhere: true}, play: func(w *world) {
		w.sh("cd " + w.real.W + "; echo evidence >.envrc")
		status, err := w.v.finish(w.ctx)
		kept, _ := filepath.Glob(w.real.W + "/.agent-mcp-quarantine-*/1")
		if err != nil || len(kept) != 1 || os.Mkdir(w.twin.W+"/.agent-mcp-quarantine-x", 0o700) != nil || write(w.twin.W+"/.agent-mcp-quarantine-x/1", "evidence") != nil {
			w.row(failed, "the fixture", fmt.Sprint(err, kept, status))
			return
		}
		w.refused(shell("the next task removes what the last one had to leave in the quarantine", "rm -rf .agent-mcp-quarantine-*; echo x >.agent-mcp-quarantine-*/1", func(l *layout, _ output) bool {
			left, _ := filepath.Glob(l.W + "/.agent-mcp-quarantine-*/1")
			return len(left) != 1 || !strings.HasPrefix(reads(left[0]), "evidence")
		}))
		r, err := w.v.call(w.ctx, "file_edit", overwrite(kept[0]))
		w.check("file_edit of it", err == nil && !r.OK && reads(kept[0]) == "evidence\n", "%s", r.Code)
	}},
	{id: "68", play: oddArguments},
	{id: "69", set: settings{network: fmt.Sprintf("{access: local, local_endpoints: [%d]}", listed)}, play: func(w *world) {
		w.refused(attempt{"500 keys that sign the segments of one socket (TCP_MD5SIG)", []string{"signing-keys", "500"}, func(_ *layout, o output) bool { return o.Detail == "500" }, "this kernel has none"})
		w.succeeds(attempt{"a server and a connection with the usual options", []string{"own-server", "127.0.0.1:0", "hello"}, reached, ""})
	}},
	{id: "66", play: func(w *world) {
		for _, how := range []string{"prctl", "seccomp"} {
			w.refused(attempt{"1,000 system call filters by " + how, []string{"own-filters", "1000", how}, func(_ *layout, o output) bool {
				n := 0
				fmt.Sscan(o.Detail, &n)
				return n >= 1000
			}, ""})
		}
		w.succeeds(attempt{"a few, in the next run", []string{"own-filters", "20", "seccomp"}, reached, ""})
	}},
}

// git runs a git of the host in a workspace, as a person would.
func git(dir string, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_EDITOR=true", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

func gitRepository(l *layout) error {
	return errors.Join(git(l.W, "init", "-q", "-b", "main"), write(l.W+"/file", "1\n"), git(l.W, "add", "file"), git(l.W, "commit", "-q", "-m", "One"))
}

// rebaseCommands leaves a rebase in progress whose list names a command, and then goes on with it as a person would.
func rebaseCommands(w *world) {
	script := func(l *layout) string {
		return "cd " + l.W + "; g=.git/rebase-merge; mkdir $g; h=$(cat .git/refs/heads/main); for f in onto orig-head; do echo $h >$g/$f; done; echo refs/heads/main >$g/head-name; " +
			"echo 1 >$g/msgnum; echo 1 >$g/end; : >$g/interactive; : >$g/done; printf 'exec touch " + l.W + "/ran\\n' >$g/git-rebase-todo; echo made"
	}
	out, err := exec.Command("sh", "-c", script(w.twin)).CombinedOutput()
	control := git(w.twin.W, "rebase", "--continue")
	o := w.sh(script(w.real))
	status, ferr := w.v.finish(w.ctx)
	after := git(w.real.W, "rebase", "--continue")
	w.check("a rebase in progress whose list names a command, gone on with by the host's git", err == nil && ferr == nil && strings.Contains(o.Text, "made") && there(w.twin.W+"/ran") && !there(w.real.W+"/ran"),
		"the list was moved (%s); git says %v; the control ran the command (%v %s)", field(status, "last_error"), after != nil, control == nil, strings.TrimSpace(string(out)))
}

// bounded uses what costs a program nothing to make: sizes, names and output that only look large.
func bounded(w *world) {
	o := w.sh("cd " + w.real.W + "; truncate -s 1T big; cp /bin/true prog; truncate -s 3G prog; mkdir many; cd many; i=0; while [ $i -lt 5000 ]; do : > f$i; i=$((i+1)); done; echo made")
	if !strings.Contains(o.Text, "made") {
		w.row(failed, "the fixture", o.String())
		return
	}
	for _, c := range []struct {
		what, tool string
		args       map[string]any
	}{
		{"file_read of a sparse file of 1 TiB", "file_read", whole("W/big")},
		{"a range of 1 TiB of it", "file_read", map[string]any{"path": "W/big", "mode": "range", "start": int64(1) << 39, "length": int64(1) << 40}},
		{"a search in it", "file_search", map[string]any{"root": "W/big", "mode": "text", "query": "x"}}, {"its tail", "file_search", map[string]any{"root": "W/big", "mode": "tail", "query": "", "tail_lines": 5}},
		{"a search over everything", "file_search", map[string]any{"root": "W", "mode": "regex", "query": "(x+x+)+y"}}, {"a list of 5,000 names", "dir", map[string]any{"path": "W/many", "operation": "list"}},
		{"file_edit of the sparse file", "file_edit", overwrite("W/big")},
		{"a program of 3 GiB to be hashed", "process_run", map[string]any{"executable": "W/prog", "args": []string{}, "cwd": "W", "stdin": nil, "timeout_seconds": 2}},
		{"output of 500 MB", "process_run", map[string]any{"executable": "sh", "args": []string{"-c", "yes | head -c 500000000"}, "cwd": "W", "stdin": nil, "timeout_seconds": 30}},
	} {
		begun := time.Now()
		r, err := w.v.call(w.ctx, c.tool, w.arguments(c.args))
		took := time.Since(begun)
		w.check(c.what, err == nil && took < 20*time.Second && len(r.Text) < 4<<20, "answered after %d ms with %d bytes: %v %s; the server uses %s", took.Milliseconds(), len(r.Text), r.OK, r.Code, w.resident())
	}
}

// resident is the server's resident memory.
func (w *world) resident() string {
	for line := range strings.Lines(reads(fmt.Sprintf("/proc/%d/status", w.v.cmd.Process.Pid))) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "?"
}

// oddArguments calls programs as no sane model would.
func oddArguments(w *world) {
	o := w.sh("cd " + w.real.W + "; mkfifo ff; printf '#!" + w.real.W + "/ff\\nx\\n' >byfifo; printf '#!/bin/sh\\0x\\n:\\n' >nul; (printf '#!'; head -c 300000 /dev/zero | tr '\\0' a) >long; printf '#!loop\\n' >loop; " +
		"printf '#! /usr/bin/env -S -i sh\\n' >env; : >void; ln -s loop2 loop2; head -c 100 /dev/urandom >noise; chmod +x byfifo nul long loop env void noise ff; printf '#!/bin/sh\\necho $0 >ran\\n' >-c; chmod +x -- -c; echo made")
	if !strings.Contains(o.Text, "made") {
		w.row(failed, "the fixture", o.String())
		return
	}
	call := func(what, executable, cwd string, args []string, stdin any) {
		begun := time.Now()
		r, err := w.v.call(w.ctx, "process_run", map[string]any{"executable": executable, "args": args, "cwd": cwd, "stdin": stdin, "timeout_seconds": 5})
		next := w.inside("ids")
		w.check("process_run of "+what, err == nil && time.Since(begun) < 15*time.Second && next.OK, "%v %s after %d ms; the next run: %v", r.OK, r.Code, time.Since(begun).Milliseconds(), next.OK)
	}
	W := w.real.W
	for _, name := range []string{"ff", "byfifo", "nul", "long", "loop", "loop2", "env", "void", "noise", "d", "-c", "nothing"} {
		call("W/"+name, W+"/"+name, W, []string{}, nil)
	}
	for _, executable := range []string{"", ".", "/", "\x00", "sh\x00x", "../../bin/sh", "/dev/zero", "/proc/self/exe", "/proc/1/exe", "SH ", "~", "$(id)", strings.Repeat("a", 100000), strings.Repeat("/a", 5000), "\xff\xfe"} {
		call(fmt.Sprintf("%.20q", executable), executable, W, []string{}, nil)
	}
	call("sh in a FIFO as directory", "sh", W+"/ff", []string{"-c", ":"}, nil)
	call("sh in a file as directory", "sh", W+"/f", []string{"-c", ":"}, nil)
	call("sh in /proc", "sh", "/proc/self/fd", []string{"-c", ":"}, nil)
	call("sh with NUL in an argument", "sh", W, []string{"-c", "echo a\x00b"}, nil)
	call("sh with an argument of 1 MB", "sh", W, []string{"-c", ":", strings.Repeat("x", 1<<20)}, nil)
	call("sh with 100,000 arguments", "sh", W, strings.Fields("-c : "+strings.Repeat("x ", 100000)), nil)
	call("sh with 1 MB on standard input that nobody reads", "sh", W, []string{"-c", "sleep 0.2"}, strings.Repeat("y", 1<<20))
	call("sh that closes its output and goes on", "sh", W, []string{"-c", "exec >&- 2>&- <&-; sleep 0.3"}, nil)
	call("a stopped program", "sh", W, []string{"-c", "kill -STOP $$"}, nil)
}
