package tool

import (
	"maps"
	"os"
	"strings"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
)

// Every way of the file tools at what tools run later, existing or missing, by its name or through a link; and what lies
// beside it stays possible.
//
// proves A-POL-13, A-POL-02
func TestFileToolsLeaveToolConfigurationAlone(t *testing.T) {
	w := newWorld(t)
	for _, p := range []string{".git/config", ".git/hooks/pre-push.sample", ".vscode/tasks.json", "sub/.envrc", "CLAUDE.md", "plain", "wt/.git"} {
		w.write("app/"+p, "old")
	}
	w.link(".git/hooks", "app/ln")
	w.link("CLAUDE.md", "app/README")
	if err := os.Mkdir(w.ws+"/.cursor", 0o755); err != nil {
		t.Fatal(err)
	}
	w.open()
	before := w.tree()
	write := arg{"operation": "overwrite", "content": "new"}
	for name, a := range map[string]arg{
		"hook":              write.with(arg{"path": ".git/hooks/pre-commit"}),
		"hook by a link":    write.with(arg{"path": "ln/pre-commit"}),
		"config":            write.with(arg{"path": ".git/config"}),
		"config, patched":   {"operation": "patch", "path": ".git/config", "patch": `{"old_text":"old","new_text":"new"}`},
		"config, replaced":  {"operation": "atomic_replace", "path": ".git/config", "content": "new"},
		"config, removed":   {"operation": "delete", "path": ".git/config"},
		"config, moved":     {"operation": "rename", "path": ".git/config", "new_path": "c"},
		"moved to a config": {"operation": "rename", "path": "plain", "new_path": ".git/config.worktree"},
		"commondir":         write.with(arg{"path": ".git/commondir"}),
		"editor":            write.with(arg{"path": ".vscode/tasks.json"}),
		"missing":           write.with(arg{"path": ".mcp.json"}),
		"missing below":     write.with(arg{"path": "sub/AGENTS.md"}),
		"environment":       write.with(arg{"path": "sub/.envrc"}),
		"by a link":         write.with(arg{"path": "README"}),
		"a pointer":         write.with(arg{"path": "wt/.git"}),
		"a new pointer":     write.with(arg{"path": "sub/.git"}),
		"absolute":          write.with(arg{"path": w.ws + "/sub/../.git/./hooks/x"}),
	} {
		r := w.call("file_edit", a)
		if r.ErrorCode != fault.PolicyDenied || r.RetryAllowed {
			t.Errorf("%s: %s", name, r.Content)
		}
		for _, want := range []string{"tool_config", "rule: what this machine or its tools run later", "origin: sandbox.allow_tool_config_writes", "nearest allowed: " + w.ws} {
			if !strings.Contains(r.Content, want) {
				t.Errorf("%s does not teach %q: %s", name, want, r.Content)
			}
		}
	}
	for name, a := range map[string]arg{
		"a directory": {"operation": "mkdir", "path": ".claude/commands"}, "hooks": {"operation": "mkdir", "path": "n/.git/hooks"}, "removed": {"operation": "rmdir", "path": ".cursor"},
	} {
		if r := w.call("dir", a); r.ErrorCode != fault.PolicyDenied {
			t.Errorf("%s: %s", name, r.Content)
		}
	}
	if !maps.Equal(before, w.tree()) {
		t.Error("something was changed")
	}
	for name, a := range map[string]arg{
		"git's own data": write.with(arg{"path": ".git/info-x"}), "a file like one": write.with(arg{"path": "claude.md"}), "an ignore file": write.with(arg{"path": ".gitignore"}),
		"a package's": write.with(arg{"path": "node_modules/.vscode"}),
	} {
		if name == "a package's" {
			w.call("dir", arg{"operation": "mkdir", "path": "node_modules"})
		}
		if r := w.call("file_edit", a); !r.OK {
			t.Errorf("%s: %s", name, r.Content)
		}
	}
	if r := w.call("dir", arg{"operation": "mkdir", "path": "new/.git"}); !r.OK {
		t.Errorf("a repository's directory: %s", r.Content)
	}
	if r := w.call("file_read", arg{"path": ".git/config", "mode": "whole"}); !r.OK {
		t.Errorf("reading: %s", r.Content)
	}
	w.policy.ToolConfigWrites = true
	if r := w.call("file_edit", write.with(arg{"path": ".git/config"})); !r.OK {
		t.Errorf("allowed: %s", r.Content)
	}
}

// What the survey bound read-only for the processes is read-only for the file tools.
//
// proves A-POL-10, A-POL-13
func TestFileToolsKeepTheTasksGuards(t *testing.T) {
	w := newWorld(t)
	w.write("app/p/lib/x", "old")
	w.write("app/p-else", "old")
	w.write("app/conf/tasks.json", "old")
	w.open()
	w.scope.Guards = []sandbox.Guard{
		{Path: w.ws + "/conf", Reason: sandbox.GuardToolConfig, Kind: "directory"}, {Path: w.ws + "/p", Reason: sandbox.GuardHardLinks, Kind: "directory"},
		{Path: w.ws + "/way", Reason: sandbox.GuardPassage, Kind: "directory"},
	}
	for path, reason := range map[string]string{"p/lib/x": "hard_links", "p/new": "hard_links", "conf/tasks.json": "tool_config"} {
		r := w.call("file_edit", arg{"path": path, "operation": "overwrite", "content": "new"})
		if r.ErrorCode != fault.PolicyDenied || !strings.Contains(r.Content, reason) || !strings.Contains(r.Content, "nearest allowed: "+w.ws) {
			t.Errorf("%s: %s", path, r.Content)
		}
	}
	if r := w.call("file_edit", arg{"path": "p-else", "operation": "overwrite", "content": "new"}); !r.OK {
		t.Errorf("beside it: %s", r.Content)
	}
	if w.read("app/p/lib/x") != "old" || w.read("app/conf/tasks.json") != "old" {
		t.Error("a guarded file was changed")
	}
}

// A denial names its rule, where that comes from and the nearest place that is allowed, the same whether anything is there.
//
// proves A-SBX-10
func TestDenialsTeach(t *testing.T) {
	w := newWorld(t)
	w.write("ro/f", "text")
	w.open()
	for name, tt := range map[string]struct {
		tool string
		args arg
		want []string
	}{
		"outside": {"file_read", arg{"path": w.out + "/s", "mode": "whole"},
			[]string{"rule: only what lies below a listed directory", "origin: sandbox.workspaces and sandbox.mounts", "nearest allowed: " + w.ws}},
		"a neighbour": {"file_read", arg{"path": w.base + "/app-evil/s", "mode": "whole"}, []string{"nearest allowed: " + w.ws}},
		"read-only": {"file_edit", arg{"path": w.ro + "/f", "operation": "overwrite", "content": "x"},
			[]string{"rule: " + w.ro + " grants only read", "origin: sandbox.mounts, its access", "nearest allowed: " + w.ws}},
		"a runtime": {"dir", arg{"path": w.rt + "/x", "operation": "mkdir"}, []string{"grants only read, execute", "runtime_root of sandbox.execution.entries"}},
		"a pipe":    {"file_read", arg{"path": "pipe", "mode": "whole"}, []string{"rule: only regular files and directories are opened"}},
		"a program": {"process_run", arg{"executable": "/usr/bin/go", "args": []string{}, "cwd": w.ws},
			[]string{"rule: only approved programs start, by their alias, and programs below " + w.ws, "origin: sandbox.execution.entries", "nearest allowed: the alias Go"}},
		"an alias": {"process_run", arg{"executable": w.base + "/tools-go", "args": []string{}, "cwd": w.ws},
			[]string{"rule: an approved program starts by its alias only", "nearest allowed: the alias Go"}},
	} {
		if name == "a pipe" {
			w.fifo("app/pipe")
		}
		r := w.call(tt.tool, tt.args)
		for _, want := range tt.want {
			if r.OK || !strings.Contains(r.Content, want) {
				t.Errorf("%s lacks %q: %s", name, want, r.Content)
			}
		}
	}
	answer := func(path string) string {
		return strings.ReplaceAll(w.call("file_read", arg{"path": path, "mode": "whole"}).Content, path, "PATH")
	}
	if there, not := answer(w.out+"/s"), answer(w.out+"/t"); there != not {
		t.Errorf("the answers tell what exists:\n%s\n%s", there, not)
	}
}

// What a program could not do is explained by the policy, not by what the program says.
//
// proves A-SBX-10
func TestFailedProgramsAreExplained(t *testing.T) {
	w := newWorld(t)
	w.write("app/x", "")
	w.open()
	w.scope.Guards = []sandbox.Guard{{Path: w.ws + "/sub", Reason: sandbox.GuardPassage}}
	w.policy.Network = sandbox.NetworkPolicy{Access: sandbox.NetworkLocal, Local: []int{5432}}
	w.job.exit = sandbox.Exit{Code: 1}
	for stderr, want := range map[string]string{
		"touch: cannot touch '" + w.ro + "/x': Read-only file system\n":       w.ro + " grants only read",
		"sh: 1: cannot create .git/hooks/x: Read-only file system":            "what this machine or its tools run later",
		"mv: cannot move 'sub' to 'sub2': Device or resource busy":            "a directory on the way to what tools run later",
		"cat: /etc/shadow: Permission denied":                                 "only what lies below a listed directory",
		"curl: (7) Failed to connect to 10.0.0.1 port 80: Connection refused": "nearest allowed: 127.0.0.1:5432",
		"Error: EROFS: read-only file system, open '" + w.ro + "/log'":        w.ro + " grants only read",
		"something else failed":                                               "",
	} {
		w.job.stderr = stderr
		r := w.call("process_run", arg{"executable": "go", "args": []string{}, "cwd": w.ws})
		if got := strings.Contains(r.Content, "the sandbox's rules"); got != (want != "") || !strings.Contains(r.Content, want) {
			t.Errorf("%q: %s", stderr, r.Content)
		}
	}
	w.job.stderr = strings.Repeat("rm: cannot remove '"+w.ro+"/f': Permission denied\n", 1000)
	if r := w.call("process_run", arg{"executable": "go", "args": []string{}, "cwd": w.ws}); strings.Count(r.Content, "- ") > maxHints+20 || strings.Count(r.Content, "grants only read") != 1 {
		t.Errorf("repeated hints: %d", strings.Count(r.Content, "grants only read"))
	}
	w.job.exit, w.job.stderr = sandbox.Exit{}, "Permission denied"
	if r := w.call("process_run", arg{"executable": "go", "args": []string{}, "cwd": w.ws}); strings.Contains(r.Content, "rules") {
		t.Errorf("a success is explained: %s", r.Content)
	}
	if l := policy.TeachNetwork(sandbox.NetworkPolicy{Access: sandbox.NetworkNone}); l.Nearest != "" {
		t.Errorf("without network: %+v", l)
	}
}
