//go:build linux && !cgo

package linux_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/resolve"
	"sekisho/internal/sandbox/rootio"
)

// linked is a task whose roots are declared through links: link leads to W, chain through link to W, and nested to a root
// inside W. undeclared leads to W too, but no declaration says so.
func linked(t *testing.T) *fixture {
	t.Helper()
	f := declare(t)
	must(t, os.MkdirAll(f.dir+"/home/me", 0o755))
	must(t, os.Mkdir(f.W+"/sub", 0o755))
	must(t, os.WriteFile(f.W+"/sub/deep", []byte("nested"), 0o644))
	must(t, os.WriteFile(f.W+"/file", []byte("mine"), 0o644))
	f.grant(f.W+"/sub", sandbox.Read|sandbox.Write|sandbox.Delete|sandbox.Execute, sandbox.OriginWorkspace)
	for path, to := range map[string]string{"chain": "link", "link": "../../w", "nested": f.W + "/sub", "undeclared": f.W} {
		must(t, os.Symlink(to, f.dir+"/home/me/"+path))
	}
	for _, name := range []string{"chain", "link", "nested"} {
		path := f.dir + "/home/me/" + name
		r, err := resolve.Root(path)
		must(t, err)
		f.policy.Links = append(f.policy.Links, sandbox.Link{Path: path, Target: r.Path})
	}
	return f
}

// files is what a file tool of the policy reads at path, or "refused".
func (f *fixture) files(path string) string {
	f.t.Helper()
	set, err := rootio.NewSet(fileop.OS(), f.policy.Roots, f.policy.Links)
	must(f.t, err)
	defer set.Close()
	target, err := set.Resolve(path, rootio.Existing)
	if err != nil {
		return "refused"
	}
	defer target.Close()
	r, err := target.OpenRead()
	if err != nil {
		return "refused"
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return "refused"
	}
	return string(data)
}

// process is what a process of the sandbox reads there.
func (f *fixture) process(path string) string {
	f.t.Helper()
	r := f.sh(`cat -- "$1" 2>/dev/null || echo refused`, path)
	return strings.TrimSuffix(r.ok(f.t), "\n")
}

// proves A-POL-02, A-SBX-01, ST-05, ST-06
func TestDeclaredAndResolvedSpellingReachTheSame(t *testing.T) {
	f := linked(t).open()
	me := f.dir + "/home/me"
	check := func(when string) {
		t.Helper()
		for path, want := range map[string]string{
			f.W + "/file":                            "mine",
			me + "/link/file":                        "mine",
			me + "/chain/file":                       "mine",
			me + "/chain/sub/deep":                   "nested",
			me + "/nested/deep":                      "nested",
			me + "/nested/../file":                   "mine",
			me + "/link/../r/file":                   "readable",
			me + "/../me/link/./sub/../file":         "mine",
			me + "/link/../home/me/chain/sub/deep":   "nested",
			me + "/link/../secret":                   "refused",
			me + "/link/../link/file":                "refused", // beside W there is no link
			me + "/undeclared/file":                  "refused",
			me + "/linkx/file":                       "refused",
			me + "/link/none":                        "refused",
			me + "/link/" + strings.Repeat("x", 300): "refused",
		} {
			if got := f.files(path); got != want {
				t.Errorf("%s: a file tool at %s: %q, want %q", when, path, got, want)
			}
			if got := f.process(path); got != want {
				t.Errorf("%s: a process at %s: %q, want %q", when, path, got, want)
			}
		}
	}
	check("applied")
	if out := f.control(`cat "$1"`, me+"/undeclared/file").ok(t); out != "mine" {
		t.Fatalf("control: %q", out)
	}
	f.sh(`cd "$1" && [ "$(pwd -P)" = "$2" ] && echo made >"$1/new" && mkdir "$1/dir" && mv "$1/new" "$1/dir/new"`, me+"/chain", f.W).ok(t)
	if got, err := os.ReadFile(f.W + "/dir/new"); err != nil || string(got) != "made\n" {
		t.Errorf("written through the link: %q, %v", got, err)
	}

	// The links and the directories that lead to them are nobody's to change; on the host the same commands work.
	for _, script := range []string{`rm "$1/link"`, `ln -sfn / "$1/link"`, `mv "$1/link" "$1/x"`, `mkdir "$1/x"`, `: >"$1/x"`, `chmod 777 "$1"`} {
		if r := f.sh(script, me); r.fault != nil || r.exit.Code == 0 {
			t.Errorf("%s: %+v", script, r)
		}
	}
	if got, err := os.Readlink(me + "/link"); err != nil || got != "../../w" {
		t.Errorf("the host's link: %q, %v", got, err)
	}
	if out := f.sh(`ls -A "$1"`, me).ok(t); out != "chain\nlink\nnested\n" {
		t.Errorf("names beside the links: %q", out)
	}

	// A link that is swapped while the server serves changes nothing, also for a box that is built later.
	must(t, os.Mkdir(f.dir+"/evil", 0o755))
	must(t, os.WriteFile(f.dir+"/evil/file", []byte("secret"), 0o644))
	must(t, os.Remove(me+"/link"))
	f.control(`ln -s ../../evil "$1/link" && [ "$(cat "$1/link/file")" = secret ]`, me).ok(t)
	check("swapped")
	slow := f.command("/bin/sleep", "60")
	slow.Timeout = 1
	f.run(slow).coded(t, fault.ResourceTimeLimit)
	check("swapped, in a new box")
}

// proves A-POL-02
func TestWithoutTheLinkTheDeclaredSpellingIsRefused(t *testing.T) {
	f := linked(t)
	f.policy.Links = nil
	f.open()
	path := f.dir + "/home/me/link/file"
	if tool, process := f.files(path), f.process(path); tool != "refused" || process != "refused" {
		t.Errorf("a file tool: %q, a process: %q", tool, process)
	}
	if tool, process := f.files(f.W+"/file"), f.process(f.W+"/file"); tool != "mine" || process != "mine" {
		t.Errorf("by its resolved path: a file tool: %q, a process: %q", tool, process)
	}
}

// proves A-POL-02, A-SBX-01
func TestLinkInTheWayIsRefusedOrGivesWay(t *testing.T) {
	for name, c := range map[string]struct {
		path   func(f *fixture) string
		refuse bool
		home   string
	}{
		"hides a root":        {func(f *fixture) string { return f.dir }, true, ""},
		"below /tmp":          {func(*fixture) string { return "/tmp/link" }, true, ""},
		"below /etc":          {func(*fixture) string { return "/etc/alternatives/x" }, true, ""},
		"below /proc":         {func(*fixture) string { return "/proc/x" }, true, ""},
		"is everything":       {func(*fixture) string { return "/" }, true, ""},
		"in a root":           {func(f *fixture) string { return f.W + "/file" }, false, "/home/agent"},
		"below a system link": {func(*fixture) string { return "/bin/x" }, false, "/home/agent"},
		"where HOME would be": {func(*fixture) string { return "/home/agent/link" }, false, "/.agent-home"},
		"above HOME":          {func(*fixture) string { return "/home" }, false, "/.agent-home"},
	} {
		t.Run(name, func(t *testing.T) {
			f := declare(t)
			must(t, os.WriteFile(f.W+"/file", []byte("mine"), 0o644))
			f.policy.Links = []sandbox.Link{{Path: c.path(f), Target: f.R}}
			if c.refuse {
				if job, err := f.backend.Open(within(t), f.policy, nil); fault.CodeOf(err) != fault.ConfinementUnsupported {
					if err == nil {
						job.Close(within(t))
					}
					t.Errorf("got %v", err)
				}
				return
			}
			f.open()
			if got := f.sh(`echo "$HOME" && cd "$HOME" && : >x && cat "$1/file"`, f.W).ok(t); got != c.home+"\nmine" {
				t.Errorf("home and file: %q", got)
			}
		})
	}
}
