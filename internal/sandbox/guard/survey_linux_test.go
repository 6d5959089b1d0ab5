package guard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// What exists is guarded with every directory on the way to it, wherever it lies: repositories in repositories, submodules
// with a slash in their name, linked working trees, and what links lead to.
//
// proves A-POL-13
func TestSurveyFindsWhatToolsRun(t *testing.T) {
	for name, tt := range map[string]struct {
		make, want []string
	}{
		"a repository": {[]string{"w/.git/hooks/", "w/.git/config", "w/.git/objects/", "w/.git/refs/heads/config", "w/src/main.go"},
			[]string{"passage w/.git", "tool_config w/.git/config", "tool_config w/.git/hooks"}},
		"editors and agents": {[]string{"w/.vscode/", "w/.idea/x", "w/.envrc", "w/.mcp.json", "w/.claude/a", "w/.codex/a", "w/.cursor/a", "w/.husky/pre", "w/AGENTS.md", "w/CLAUDE.md"},
			[]string{"tool_config w/.claude", "tool_config w/.codex", "tool_config w/.cursor", "tool_config w/.envrc", "tool_config w/.husky", "tool_config w/.idea",
				"tool_config w/.mcp.json", "tool_config w/.vscode", "tool_config w/AGENTS.md", "tool_config w/CLAUDE.md"}},
		"below": {[]string{"w/a/b/CLAUDE.md", "w/a/c"}, []string{"passage w/a", "passage w/a/b", "tool_config w/a/b/CLAUDE.md"}},
		"submodules": {[]string{"w/.git/modules/a/b/config", "w/.git/modules/a/b/hooks/", "w/.git/modules/a/b/refs/heads/config", "w/sub/.git: gitdir: ../.git/modules/a/b\n"},
			[]string{"passage w/.git", "passage w/.git/modules", "passage w/.git/modules/a", "passage w/.git/modules/a/b", "tool_config w/.git/modules/a/b/config",
				"tool_config w/.git/modules/a/b/hooks", "passage w/sub", "tool_config w/sub/.git"}},
		"a linked working tree": {[]string{"w/.git/worktrees/t/commondir: ../..\n", "w/.git/worktrees/t/gitdir", "w/.git/config"},
			[]string{"passage w/.git", "tool_config w/.git/config", "passage w/.git/worktrees", "passage w/.git/worktrees/t", "tool_config w/.git/worktrees/t/commondir"}},
		"a git directory elsewhere": {[]string{"w/.git: gitdir: real/x\n", "w/real/x/config", "w/real/x/hooks/", "w/real/x/HEAD"},
			[]string{"tool_config w/.git", "passage w/real", "passage w/real/x", "tool_config w/real/x/config", "tool_config w/real/x/hooks"}},
		"a repository without working tree": {[]string{"w/b/HEAD", "w/b/objects/", "w/b/refs/", "w/b/config", "w/b/hooks/"},
			[]string{"passage w/b", "tool_config w/b/config", "tool_config w/b/hooks"}},
		"a config that is none": {[]string{"w/b/HEAD", "w/b/config", "w/c/hooks/"}, nil},
		"a link to a directory": {[]string{"w/.vscode -> conf/code", "w/conf/code/tasks.json"},
			[]string{"tool_config w/.vscode", "passage w/conf", "tool_config w/conf/code"}},
		"a link over a link": {[]string{"w/CLAUDE.md -> l/x", "w/l -> d", "w/d/x"},
			[]string{"tool_config w/CLAUDE.md", "passage w/d", "tool_config w/d/x", "passage w/l"}},
		"a link that leads nowhere": {[]string{"w/CLAUDE.md -> d/x/y", "w/d/"}, []string{"tool_config w/CLAUDE.md", "passage w/d"}},
		"links in a git directory":  {[]string{"w/.git/objects -> ../o", "w/o/", "w/.git/logs/HEAD -> /x"}, []string{"passage w/.git", "passage w/.git/logs", "passage w/.git/logs/HEAD", "passage w/.git/objects"}},
		"a link out":                {[]string{"w/CLAUDE.md -> ../out/x", "out/x"}, []string{"tool_config w/CLAUDE.md"}},
		"a circle":                  {[]string{"w/CLAUDE.md -> AGENTS.md", "w/AGENTS.md -> CLAUDE.md"}, []string{"tool_config w/AGENTS.md", "tool_config w/CLAUDE.md"}},
		"hooks elsewhere": {[]string{"w/.git/config: [core]\n\thooksPath = .githooks\n", "w/.githooks/pre-push"},
			[]string{"passage w/.git", "tool_config w/.git/config", "tool_config w/.githooks"}},
		"what a config runs and includes": {[]string{"w/.git/config: [include]\n\tpath = ../git.inc\n[core]\n\tfsmonitor = tools/watch\n\tworktree = ../sub\n[alias]\n\tx = !tools/x a\n", "w/git.inc", "w/tools/watch", "w/tools/x", "w/sub/"},
			[]string{"passage w/.git", "tool_config w/.git/config", "tool_config w/git.inc", "passage w/tools", "tool_config w/tools/watch", "tool_config w/tools/x"}},
		"a rebase with the user's own commands": {[]string{"w/.git/rebase-merge/git-rebase-todo: pick 1 a\nexec make\n", "w/.git/rebase-merge/done"},
			[]string{"passage w/.git", "passage w/.git/rebase-merge", "tool_config w/.git/rebase-merge/git-rebase-todo"}},
		"a quarantine of before": {[]string{"w/.agent-mcp-quarantine-abc/1", "w/d/.agent-mcp-quarantine-abc/index.jsonl", "w/.agent-mcp-quarantine"},
			[]string{"tool_config w/.agent-mcp-quarantine-abc", "passage w/d", "tool_config w/d/.agent-mcp-quarantine-abc"}},
		"a rebase without":   {[]string{"w/.git/rebase-merge/git-rebase-todo: pick 1 a\n", "w/.git/worktrees/t/rebase-merge/git-rebase-todo: # x\n\nnoop\n"}, nil},
		"installed packages": {[]string{"w/node_modules/p/.vscode/", "w/node_modules/p/CLAUDE.md"}, nil},
		"other names":        {[]string{"w/.gitignore", "w/agents.md", "w/.GIT/config", "w/x.envrc", "w/git/hooks/"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := newWorld(t)
			v.make(tt.make...)
			if d := cmp.Diff(tt.want, v.guards()); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			v.policy.ToolConfigWrites = true
			if got := v.guards(); got != nil {
				t.Errorf("with tool config writes: %v", got)
			}
		})
	}
}

// What a configuration makes git run lies in the working tree that it is for: of a submodule, of a linked tree, of a separate
// git directory; and values are read as git reads them.
//
// proves A-POL-13
func TestSurveyFollowsConfigurationsAsGitDoes(t *testing.T) {
	const hooks = ": [core]\n\thooksPath = .githooks\n"
	for name, tt := range map[string]struct {
		make []string
		want []string
	}{
		"a comment":      {[]string{"w/.git/config: [core]\n\thooksPath = .githooks # ours\n", "w/.githooks/"}, []string{"w/.githooks"}},
		"quotes":         {[]string{"w/.git/config: [core]\n\thooksPath = \"my hooks\"/x\n", "w/my hooks/x/"}, []string{"w/my hooks/x"}},
		"a second line":  {[]string{"w/.git/config: [core]\n\thooksPath = .git\\\nhooks\n", "w/.githooks/"}, []string{"w/.githooks"}},
		"one line":       {[]string{"w/.git/config: [core] hooksPath = .githooks\n", "w/.githooks/"}, []string{"w/.githooks"}},
		"a submodule":    {[]string{"w/.git/modules/s/config: [core]\n\tworktree = ../../../sub\n\thooksPath = .githooks\n", "w/sub/.githooks/"}, []string{"w/sub/.githooks"}},
		"a linked tree":  {[]string{"w/.git/config" + hooks, "w/.git/worktrees/t/gitdir: BASE/w/tree/.git\n", "w/tree/.githooks/"}, []string{"w/tree/.githooks"}},
		"by its pointer": {[]string{"w/tree/.git: gitdir: ../real\n", "w/real/config" + hooks, "w/tree/.githooks/"}, []string{"w/tree/.githooks"}},
		"its own config": {[]string{"w/.git/worktrees/t/gitdir: BASE/w/tree/.git\n", "w/.git/worktrees/t/config.worktree" + hooks, "w/tree/.githooks/"}, []string{"w/tree/.githooks"}},
		"an included file": {[]string{"w/.git/config: [includeIf \"gitdir:/[x]/\"]\n\tpath = ../shared\n", "w/shared" + hooks, "w/.githooks/"},
			[]string{"w/.githooks", "w/shared"}},
		"one outside":            {[]string{"w/.git/config: [include]\n\tpath = ../../out/shared\n", "out/shared" + hooks, "w/.githooks/"}, []string{"w/.githooks"}},
		"the user's":             {[]string{"w/.git/config", "out/.gitconfig" + hooks, "w/.githooks/"}, []string{"w/.githooks"}},
		"the user's include":     {[]string{"w/.git/config", "out/.gitconfig: [include]\n\tpath = ~/more\n", "out/more" + hooks, "w/.githooks/"}, []string{"w/.githooks"}},
		"a circle":               {[]string{"w/.git/config: [include]\n\tpath = ../shared\n", "w/shared: [include]\n\tpath = shared\n\tpath = .git/config\n"}, []string{"w/shared"}},
		"an interpreter's file":  {[]string{"w/.git/config: [filter \"x\"]\n\tclean = python clean.py\n", "w/clean.py"}, []string{"w/clean.py"}},
		"a shell's file":         {[]string{"w/.git/config: [filter \"x\"]\n\tclean = \"sh -c 'tools/a; cat'\"\n", "w/tools/a"}, []string{"w/tools/a"}},
		"what is named like one": {[]string{"w/.git/config: [user]\n\tname = Main Make\n[alias]\n\tm = checkout main\n[core]\n\tpager = less\n", "w/main", "w/Make", "w/less"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := newWorld(t)
			t.Setenv("HOME", v.out)
			t.Setenv("XDG_CONFIG_HOME", "")
			for i, m := range tt.make {
				tt.make[i] = strings.ReplaceAll(m, "BASE", filepath.Dir(v.w))
			}
			v.make(tt.make...)
			var got []string
			for _, g := range v.guards() {
				if p, ok := strings.CutPrefix(g, "tool_config "); ok && !strings.Contains(p, ".git/") && !strings.HasSuffix(p, "/.git") && !strings.HasSuffix(p, "/config") {
					got = append(got, p)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// A root inside a root: what guards the inner one also keeps the way to it through the outer one.
//
// proves A-POL-03, A-POL-13
func TestSurveyOfNestedRoots(t *testing.T) {
	v := newWorld(t)
	v.make("w/a/in/.git/config", "w/a/other")
	v.grant(v.w + "/a/in")
	want := []string{"passage w/a", "passage w/a/in/.git", "tool_config w/a/in/.git/config"}
	if d := cmp.Diff(want, v.guards()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// proves A-POL-10
func TestHardLinks(t *testing.T) {
	for name, tt := range map[string]struct {
		make    []string
		want    []string
		variant string
		target  string
	}{
		"all inside":               {[]string{"w/a", "w/d/b = w/a"}, nil, "", ""},
		"one outside":              {[]string{"out/s", "w/d/h = out/s", "w/d/other"}, nil, "hard_link", "/w/d/h"},
		"at the top":               {[]string{"out/s", "w/h = out/s"}, nil, "hard_link", "/w/h"},
		"a package":                {[]string{"out/s", "out/t", "w/node_modules/p/x/s = out/s", "w/node_modules/p/t = out/t", "w/node_modules/.lock"}, []string{"hard_links w/node_modules/p"}, "", ""},
		"a whole store":            {[]string{"out/s", "w/node_modules/p/s = out/s", "w/node_modules/q/s = out/s"}, []string{"hard_links w/node_modules"}, "", ""},
		"a package with a file":    {[]string{"out/s", "w/p/x/s = out/s", "w/p/own"}, []string{"hard_links w/p/x"}, "", ""},
		"both kinds in one place":  {[]string{"out/s", "w/p/s = out/s", "w/p/own"}, nil, "hard_link", "/w/p/s"},
		"a name more inside":       {[]string{"out/s", "w/p/s = out/s", "w/q/s = out/s", "w/q/own"}, nil, "hard_link", "/w/q/s"},
		"a local clone":            {[]string{"out/s", "w/r/.git/objects/ab/s = out/s", "w/r/.git/config", "w/r/f"}, nil, "hard_link_repository", "/w/r/.git/objects/ab/s"},
		"a copied tree":            {[]string{"out/s", "out/t", "w/r/.git/objects/s = out/s", "w/r/f = out/t"}, []string{"hard_links w/r"}, "", ""},
		"a protected file":         {[]string{"out/s", "w/CLAUDE.md = out/s"}, []string{"tool_config w/CLAUDE.md"}, "", ""},
		"two protected names":      {[]string{"w/CLAUDE.md", "w/AGENTS.md = w/CLAUDE.md"}, []string{"tool_config w/AGENTS.md", "tool_config w/CLAUDE.md"}, "", ""},
		"a protected file's alias": {[]string{"w/CLAUDE.md", "w/x = w/CLAUDE.md"}, nil, "hard_link_protected", "/w/x"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newWorld(t)
			v.make(tt.make...)
			if tt.variant == "" {
				if d := cmp.Diff(tt.want, v.guards()); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
				return
			}
			_, err := Survey(t.Context(), &v.policy)
			e := fault.As(err)
			if e == nil || e.Code != fault.PolicyDenied || e.Variant != tt.variant || !strings.HasSuffix(e.Target, tt.target) {
				t.Errorf("got %v, want %s of %s", err, tt.variant, tt.target)
			}
		})
	}
}

// proves A-POL-10
func TestTooManyLinkedDirectories(t *testing.T) {
	v := newWorld(t)
	v.make("out/s")
	for i := range MaxLinkedDirectories + 1 {
		dir := fmt.Sprintf("%s/p/%d", v.w, i)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.Link(v.out+"/s", dir+"/s"))
	}
	if got := v.guards(); len(got) != 1 {
		t.Fatalf("as one: %d guards", len(got))
	}
	v.make("w/p/own")
	if _, err := Survey(t.Context(), &v.policy); fault.As(err) == nil || fault.As(err).Variant != "hard_link_directories" {
		t.Errorf("got %v", err)
	}
	must(t, os.RemoveAll(v.w+"/p/0"))
	if got := v.guards(); len(got) != MaxLinkedDirectories {
		t.Errorf("%d guards", len(got))
	}
}

// Pipes, sockets, devices and a mount whose server never answers are not opened and not waited for (attack case 56).
//
// proves A-POL-10, A-POL-13, A-POL-14
func TestNothingInTheWayBlocks(t *testing.T) {
	v := newWorld(t)
	v.make("w/d/f", "w/mounted/")
	must(t, syscall.Mkfifo(v.w+"/d/pipe", 0o666))
	must(t, syscall.Mkfifo(v.w+"/.envrc", 0o666))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	t.Chdir(v.w)
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: "sock"}))
	if os.Geteuid() == 0 {
		must(t, unix.Mknod(v.w+"/d/zero", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
		if server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err == nil {
			defer server.Close() // nobody reads it: every question to this mount waits for ever
			must(t, unix.Mount("dead", v.w+"/mounted", "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", server.Fd())))
			defer unix.Unmount(v.w+"/mounted", unix.MNT_DETACH)
		} else {
			t.Logf("without a mount that never answers: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		f, err := Survey(ctx, &v.policy)
		if err == nil {
			err = f.Close()
		}
		done <- err
	}()
	select {
	case err := <-done:
		must(t, err)
	case <-ctx.Done():
		t.Fatal("the survey waits for something")
	}
	if d := cmp.Diff([]string{"tool_config w/.envrc"}, v.guards()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// proves A-POL-10
func TestSurveyEndsWithItsContext(t *testing.T) {
	v := newWorld(t)
	v.make("w/a/b")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.New(fault.AgentCancelled))
	if _, err := Survey(ctx, &v.policy); fault.CodeOf(err) != fault.AgentCancelled {
		t.Errorf("got %v", err)
	}
}

// proves A-POL-13
func TestTooDeepAndUnreadable(t *testing.T) {
	v := newWorld(t)
	dir := v.w
	for range 300 {
		dir += "/d"
	}
	must(t, os.MkdirAll(dir, 0o755))
	if _, err := Survey(t.Context(), &v.policy); fault.As(err) == nil || fault.As(err).Variant != "too_deep" {
		t.Errorf("got %v", err)
	}
	must(t, os.RemoveAll(v.w+"/d"))
	if os.Geteuid() != 0 { // root reads everything
		v.make("w/closed/")
		must(t, os.Chmod(v.w+"/closed", 0))
		if _, err := Survey(t.Context(), &v.policy); fault.As(err) == nil || fault.As(err).Variant != "unreadable" {
			t.Errorf("got %v", err)
		}
		must(t, os.Chmod(v.w+"/closed", 0o700))
	}
}

// proves A-POL-14
func TestForeignOwnersAreCounted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can make files of others: counted there")
		return
	}
	v := newWorld(t)
	v.make("w/a", "w/b/c", "w/b/d")
	must(t, os.Chown(v.w+"/b/c", 65534, 65534))
	must(t, os.Chown(v.w+"/b/d", -1, 65534))
	f := v.survey()
	if d := cmp.Diff(Foreign{Count: 2, First: v.w + "/b/c"}, f.Foreign); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// A root that may not be written, or that was replaced.
//
// proves A-POL-14
func TestOnlyTheRootsThatWereApplied(t *testing.T) {
	v := newWorld(t)
	v.make("w/.git/config")
	v.policy.Roots[0].Rights = sandbox.Read
	if got := v.guards(); got != nil {
		t.Errorf("read-only: %v", got)
	}
	v.policy.Roots[0].Rights = sandbox.Read | sandbox.Write
	must(t, os.Rename(v.w, v.w+"-old"))
	must(t, os.Mkdir(v.w, 0o755))
	if _, err := Survey(t.Context(), &v.policy); fault.CodeOf(err) != fault.SandboxResolutionChanged {
		t.Errorf("replaced: %v", err)
	}
}
