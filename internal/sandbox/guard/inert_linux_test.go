package guard

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What git itself makes stays, in the form in which it makes it.
//
// proves A-POL-13
func TestWhatGitMakesStays(t *testing.T) {
	v := newWorld(t)
	run := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + v.out, "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	w := v.survey().Watch(&v.policy)
	run(v.w, "init", "-q", "r")
	run(v.w+"/r", "config", "user.email", "me@example.com")
	run(v.w+"/r", "remote", "add", "origin", "https://example.com/a/b.git")
	run(v.w+"/r", "commit", "-q", "--allow-empty", "-m", "x")
	run(v.w+"/r", "worktree", "add", "-q", "../t")
	run(v.w, "init", "-q", "--bare", "bare.git")
	if got := v.sweep(w); got != nil {
		t.Errorf("moved %v", got)
	}
	run(v.w+"/t", "status")
	run(v.w+"/r", "config", "core.hooksPath", "/tmp")
	if d := cmp.Diff([]string{"w/r/.git/config"}, v.sweep(w)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	// From now on all of it exists.
	w = v.survey().Watch(&v.policy)
	if got := v.sweep(w); got != nil {
		t.Errorf("moved %v", got)
	}
}

// proves A-POL-13
func TestInertConfig(t *testing.T) {
	for text, want := range map[string]bool{
		"": true,
		"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n":   true,
		"[remote \"origin\"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n": true,
		"[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n":                                       true,
		"[user]\n\tname = Jean Ångström\n\temail = a@b.c\n":                                                       true,
		"[core]\n\tfsmonitor = x\n":                   false,
		"[core]\n\thooksPath = x\n":                   false,
		"[core]\n\trepositoryformatversion = 1\n":     false,
		"[core] fsmonitor = x\n":                      false,
		"[core]\n\tbare = false\\\n\tfsmonitor = x\n": false,
		"[core]\n\tbare = false # \n":                 false,
		"[CORE]\n\tfsmonitor = x\n":                   false,
		"[include]\n\tpath = x\n":                     false,
		"[alias]\n\tst = !x\n":                        false,
		"[remote \"o\"]\n\turl = ext::sh -c x\n":      false,
		"[remote \"o\"]\n\turl = /w/evil\n":           false,
		"[remote \"o\"]\n\tuploadpack = x\n":          false,
		"[remote \"o\\\"]\n[core]\n\tfsmonitor = x\n": false,
		"[core]\n\tbare = false\r\n":                  false,
		"[core]\n\tbare = false":                      false,
		"\ufeff[core]\n\tbare = false\n":              false,
		"[core]\n\tbare = false\x00\n":                false,
		"\tbare = false\n":                            false,
		"[user]\n\tname = \"a\n\tfsmonitor = x\"\n":   false,
		"[remote \"o\"]\n\turl = https://e.com/a b\n": false,
		"[branch \"x\"]\n\tvscode-merge-base = o/m\n": false,
		"[branch \"main\"]\n\tremote = .\n":           true,
		"[branch \"main\"]\n\tremote = ..\n":          false,
		"[branch \"main\"]\n\tremote = /w/evil\n":     false,
		"[branch \"main\"]\n\tremote = ../evil\n":     false,
		"[core]\n\n\tbare = false\n":                  false,
	} {
		if got := InertConfig(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// FuzzInertConfig compares with git: of what passes, git reads no other key.
func FuzzInertConfig(f *testing.F) {
	f.Add("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x.git\n")
	f.Add("[user]\n\tname = a\\\n\tb\n")
	allowed := map[string]bool{}
	for k := range configKeys() {
		section, key, _ := strings.Cut(k, ".")
		allowed[section+" "+key] = true
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !InertConfig(text) {
			return
		}
		file := t.TempDir() + "/config"
		must(t, os.WriteFile(file, []byte(text), 0o644))
		out, err := exec.Command("git", "config", "--file", file, "--list", "--name-only", "-z").Output()
		if err != nil {
			return // git refuses it
		}
		for key := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if key == "" {
				continue
			}
			section, last := key[:strings.IndexByte(key, '.')], key[strings.LastIndexByte(key, '.')+1:]
			if !allowed[section+" "+last] {
				t.Errorf("%q: git reads %q", text, key)
			}
		}
	})
}
