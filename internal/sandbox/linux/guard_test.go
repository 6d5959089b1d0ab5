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
