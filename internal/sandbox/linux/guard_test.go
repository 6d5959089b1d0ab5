//go:build linux && !cgo

package linux_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/guard"
)

// surveyed is declare with what prepare makes in W, then surveyed as the broker does.
func surveyed(t *testing.T, prepare func(f *fixture)) (*fixture, *guard.Findings) {
	t.Helper()
	f := declare(t)
	prepare(f)
	found, err := guard.Survey(t.Context(), &f.policy)
	must(t, err)
	must(t, found.Close())
	f.policy.Task.Guards = found.Guards
	return f, found
}

// swept ends the sandbox and sweeps as the broker does.
func (f *fixture) swept(found *guard.Findings) []sandbox.Quarantined {
	f.t.Helper()
	f.close()
	must(f.t, os.MkdirAll(f.dir+"/quarantine", 0o700))
	state, err := os.Open(f.dir + "/quarantine")
	must(f.t, err)
	defer state.Close()
	q := guard.NewQuarantine(fileop.OS(), state, "task")
	left, gone, err := guard.Sweep(f.t.Context(), fileop.OS(), found.Watch(&f.policy), q)
	must(f.t, err)
	must(f.t, q.Close())
	if len(gone) > 0 {
		f.t.Errorf("roots are gone: %v", gone)
	}
	return left
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("/usr/bin/git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Every way at what exists: writing, replacing, removing, renaming it or a directory above it, linking it elsewhere.
//
// proves A-POL-13, A-POL-02
func TestExistingToolConfigurationStays(t *testing.T) {
	attacks := map[string]string{
		"write":             `echo x >.git/hooks/post-commit; echo x >>.git/config; echo x >.envrc; echo x >.vscode/tasks.json; echo x >sub/CLAUDE.md`,
		"replace":           `for p in .git/config .envrc sub/CLAUDE.md sub/repo/.git/config; do echo x >n; mv -f n $p; done`,
		"remove":            `rm -rf .git/hooks .git/config .envrc .vscode sub/CLAUDE.md .idea link`,
		"rename the thing":  `mv .vscode .v2; mv .envrc .e2; mv .git/hooks .git/h2; mv link l2`,
		"rename a parent":   `mv .git .g2; mkdir -p .git/hooks; echo x >.git/hooks/post-commit; mv sub s2; mkdir -p sub; echo x >sub/CLAUDE.md; mv conf c2; mkdir conf; echo x >conf/tasks.json`,
		"link into it":      `echo x >n; ln n .git/hooks/post-commit; ln -s /w/n .vscode/tasks2.json`,
		"a second name":     `ln .git/config c; echo x >>c; ln .envrc e; echo x >>e`,
		"through a link":    `echo x >conf/tasks.json; echo x >conf/new`,
		"change the mode":   `chmod 777 .git/config .git/hooks .envrc`,
		"mount":             `mount -o remount,rw .git/hooks; umount .git/hooks; echo x >.git/hooks/post-commit`,
		"exchange a parent": `mkdir x; python3 -c "import ctypes;ctypes.CDLL(None).renameat2(-100,b'.git',-100,b'x',2)"`,
	}
	make := func(dir string) {
		for _, d := range []string{"/.git/hooks", "/.vscode", "/.idea", "/sub/repo/.git/hooks", "/conf"} {
			must(t, os.MkdirAll(dir+d, 0o755))
		}
		for _, p := range []string{"/.git/config", "/.envrc", "/.vscode/tasks.json", "/sub/CLAUDE.md", "/sub/repo/.git/config", "/conf/tasks.json"} {
			must(t, os.WriteFile(dir+p, []byte("old"), 0o644))
		}
		must(t, os.Symlink("conf", dir+"/link"))
		must(t, os.Symlink("../conf", dir+"/sub/.cursor"))
	}
	for name, script := range attacks {
		t.Run(name, func(t *testing.T) {
			f, found := surveyed(t, func(f *fixture) { make(f.W) })
			f.open()
			before := tree(t, f.W)
			f.sh(script)
			if f.job == nil {
				t.Fatal("no sandbox")
			}
			f.close()
			left := f.swept(found)
			after := tree(t, f.W)
			for p, was := range before {
				if guarded(p) && after[p] != was {
					t.Errorf("%s: was %q, is %q", p, was, after[p])
				}
			}
			for p := range after {
				if _, ok := before[p]; !ok && guarded(p) {
					t.Errorf("%s was planted and not moved; moved %v", p, left)
				}
			}
			// The control: unprotected the same script has its effect.
			twin := t.TempDir()
			make(twin)
			clean := tree(t, twin)
			if name == "mount" {
				script = strings.TrimPrefix(script, "mount -o remount,rw .git/hooks; umount .git/hooks; ")
			}
			unconfined(t, twin, "/bin/sh", "-c", script)
			changed := false
			for p, now := range tree(t, twin) {
				changed = changed || guarded(p) && clean[p] != now
			}
			for p, was := range clean {
				changed = changed || guarded(p) && tree(t, twin)[p] != was
			}
			if !changed {
				t.Error("blocked: the control changed nothing")
			}
		})
	}
}

// guarded tells whether a path below W is one of the fixture's protected ones.
func guarded(p string) bool {
	for _, g := range []string{"/.git/hooks", "/.git/config", "/.envrc", "/.vscode", "/.idea", "/sub/CLAUDE.md", "/sub/.cursor", "/sub/repo/.git/hooks", "/sub/repo/.git/config", "/conf/"} {
		if strings.HasPrefix(p, g) {
			return true
		}
	}
	return p == "/conf"
}

// tree is every path below dir with its mode and content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	out, err := exec.Command("/usr/bin/find", dir, "-printf", "%P\t%m %y %l\n").Output()
	must(t, err)
	for line := range strings.Lines(string(out)) {
		p, how, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		b, _ := os.ReadFile(dir + "/" + p)
		all["/"+p] = how + " " + string(b)
	}
	return all
}

// Git keeps working: in a repository that exists, whose config and hooks are read-only, and in a new one.
//
// proves A-POL-13
func TestGitKeepsWorking(t *testing.T) {
	const as = `export GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=a GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=a@b GIT_CONFIG_KEY_2=init.defaultBranch GIT_CONFIG_VALUE_2=main; set -e; `
	f, found := surveyed(t, func(f *fixture) {
		git(t, f.W, "init", "-q", "old")
		must(t, os.WriteFile(f.W+"/old/f", []byte("1\n"), 0o644))
		git(t, f.W+"/old", "add", "f")
		git(t, f.W+"/old", "commit", "-q", "-m", "1")
	})
	f.open()
	for name, script := range map[string]string{
		"in an old one": `cd old; echo 2 >>f; git add f; git commit -q -m 2; git checkout -q -b topic; echo 3 >>f; git commit -q -a -m 3; git checkout -q main; git merge -q topic; git tag t; git stash list; echo 4 >>f; git stash -q; git stash pop -q; git reset -q --hard; git gc -q; git fsck; git branch -q -d topic; git log --oneline | wc -l`,
		"a new one":     `git init -q new; cd new; git config user.name b; git commit -q --allow-empty -m 1; git worktree add -q ../tree; cd ../tree; git commit -q --allow-empty -m 2; git log --oneline | wc -l`,
		"a worktree":    `cd old; git worktree add -q ../oldtree; cd ../oldtree; echo 5 >>f; git commit -q -a -m 5; git status --short`,
		"a clone":       `git clone -q --no-local old clone; cd clone; git commit -q --allow-empty -m x`,
	} {
		r := f.sh(as + script)
		if r.fault != nil || r.exit.Code != 0 {
			t.Errorf("%s: %+v %v\n%s%s", name, r.exit, r.fault, r.out, r.err)
		}
	}
	// What would have to change the protected configuration says so.
	for name, script := range map[string]string{
		"config":   `cd old; git config core.hooksPath /tmp`,
		"a remote": `cd old; git remote add o https://example.com/x`,
		"a hook":   `cd old; echo x >.git/hooks/post-commit`,
	} {
		if r := f.sh(script); r.exit.Code == 0 || r.err == "" {
			t.Errorf("%s: %+v\n%s%s", name, r.exit, r.out, r.err)
		}
	}
	var moved []string
	for _, q := range f.swept(found) {
		moved = append(moved, strings.TrimPrefix(q.Path, f.W))
	}
	// A clone of a path keeps that path as its remote, from which a fetch would run something.
	if len(moved) != 1 || moved[0] != "/clone/.git/config" {
		t.Errorf("moved %v", moved)
	}
	for _, dir := range []string{"/old", "/new", "/tree", "/oldtree", "/clone"} {
		git(t, f.W+dir, "status")
	}
}

// The links of a git directory that exists stay what they are, work goes on through them, and new ones are moved: git would
// write through them.
//
// proves A-POL-13
func TestLinksInAGitDirectory(t *testing.T) {
	make := func(dir string) {
		must(t, os.MkdirAll(dir+"/.git/logs", 0o755))
		must(t, os.MkdirAll(dir+"/store", 0o755))
		must(t, os.Symlink("../store", dir+"/.git/objects"))
		must(t, os.Symlink("/nowhere", dir+"/.git/logs/HEAD"))
	}
	f, found := surveyed(t, func(f *fixture) { make(f.W) })
	f.open()
	f.sh(`echo x >.git/objects/new && ln -s /etc/passwd .git/COMMIT_EDITMSG`).ok(t)
	script := `ln -sfn /tmp .git/objects; rm -f .git/logs/HEAD; ln -s /etc/passwd .git/logs/HEAD; mv .git/logs l2; mkdir -p .git/logs; ln -s /etc/passwd .git/logs/HEAD`
	f.sh(script)
	left := f.swept(found)
	if len(left) != 1 || left[0].Path != f.W+"/.git/COMMIT_EDITMSG" {
		t.Errorf("moved %v", left)
	}
	twin := t.TempDir()
	make(twin)
	unconfined(t, twin, "/bin/sh", "-c", script)
	for p, want := range map[string]string{"/.git/objects": "../store", "/.git/logs/HEAD": "/nowhere"} {
		if got, err := os.Readlink(f.W + p); err != nil || got != want {
			t.Errorf("%s leads to %q, %v", p, got, err)
		}
		if got, _ := os.Readlink(twin + p); got == want {
			t.Errorf("blocked: the control left %s", p)
		}
	}
	if _, err := os.Stat(f.W + "/store/new"); err != nil {
		t.Error(err)
	}
}

// A task closes what it left behind; its owner's directories are opened for the sweep, and closed again.
//
// proves A-POL-13
func TestClosedDirectoriesAreSwept(t *testing.T) {
	f, found := surveyed(t, func(*fixture) {})
	f.open()
	f.sh(`mkdir -p a/b/.git/hooks && echo x >a/b/.git/hooks/post-commit && chmod 0 a/b/.git a/b a`).ok(t)
	left := f.swept(found)
	if len(left) != 1 || left[0].Path != f.W+"/a/b/.git/hooks" {
		t.Errorf("moved %v", left)
	}
	if b, err := os.ReadFile(f.dir + "/quarantine/task/1/post-commit"); err != nil || string(b) != "x\n" {
		t.Errorf("in quarantine: %q, %v", b, err)
	}
	if st, err := os.Stat(f.W + "/a"); err != nil || st.Mode().Perm() != 0 {
		t.Errorf("the mode: %v, %v", st, err)
	}
	must(t, exec.Command("/usr/bin/chmod", "-R", "u+rwX", f.W).Run())
}

// Directories whose files are linked from a package store run and cannot be changed; what lies beside them can.
//
// proves A-POL-10, A-SBX-01
func TestLinkedPackagesAreReadOnly(t *testing.T) {
	f, found := surveyed(t, func(f *fixture) {
		for _, p := range []string{"/store", "/w/node_modules/p/lib"} {
			must(t, os.MkdirAll(f.dir+p, 0o755))
		}
		must(t, os.WriteFile(f.dir+"/store/run", []byte("#!/bin/sh\necho ran\n"), 0o755))
		must(t, os.WriteFile(f.dir+"/store/data", []byte("data"), 0o644))
		must(t, os.Link(f.dir+"/store/run", f.W+"/node_modules/p/run"))
		must(t, os.Link(f.dir+"/store/data", f.W+"/node_modules/p/lib/data"))
		must(t, os.WriteFile(f.W+"/node_modules/.lock", nil, 0o644))
	})
	if got := guard.ReadOnlyDirectories(found.Guards); len(got) != 1 || got[0] != f.W+"/node_modules/p" {
		t.Fatalf("read-only: %v", got)
	}
	f.open()
	if out := f.sh(`node_modules/p/run && cat node_modules/p/lib/data && echo new >node_modules/new && mkdir node_modules/q`).ok(t); out != "ran\ndata" {
		t.Errorf("got %q", out)
	}
	attack := `cd node_modules; echo x >p/run; echo x >>p/lib/data; rm -rf p; touch p/new; mv p q2; chmod 777 p/run; mv p/run r; ln p/run r2 && echo x >r2; cd ..; mv node_modules nm2 && echo x >nm2/p/lib/data`
	f.sh(attack)
	for p, want := range map[string]string{"/store/run": "#!/bin/sh\necho ran\n", "/store/data": "data"} {
		b, err := os.ReadFile(f.dir + p)
		st, serr := os.Stat(f.dir + p)
		must(t, serr)
		if err != nil || string(b) != want || st.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s: %q, %v, %v", p, b, st.Mode(), err)
		}
	}
	// The control: unconfined the same script changes the store.
	f.close()
	unconfined(t, f.W, "/bin/sh", "-c", "mv nm2 node_modules; "+attack)
	if b, _ := os.ReadFile(f.dir + "/store/data"); string(b) == "data" {
		t.Error("blocked: the control changed nothing")
	}
}
