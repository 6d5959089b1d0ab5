package guard

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/test/crashfs"
)

// What a task made is moved wherever it lies and whatever it is; what existed, and what can run nothing, stays.
//
// proves A-POL-13
func TestSweepMovesWhatIsNew(t *testing.T) {
	for name, tt := range map[string]struct{ before, after, want []string }{
		"hooks":                      {[]string{"w/.git/config"}, []string{"w/.git/hooks/post-commit"}, []string{"w/.git/hooks"}},
		"samples and a hook":         {nil, []string{"w/.git/hooks/a.sample", "w/.git/hooks/post-commit"}, []string{"w/.git/hooks"}},
		"samples only":               {nil, []string{"w/.git/hooks/a.sample"}, nil},
		"a link among samples":       {nil, []string{"w/.git/hooks/a.sample -> ../x"}, []string{"w/.git/hooks"}},
		"a config that runs":         {nil, []string{"w/.git/config: [core]\n\tfsmonitor = touch x\n"}, []string{"w/.git/config"}},
		"a harmless config":          {nil, []string{"w/.git/config: [core]\n\tbare = false\n"}, nil},
		"hooks as a link":            {nil, []string{"w/.git/hooks -> ../evil"}, []string{"w/.git/hooks"}},
		"a repository below":         {nil, []string{"w/a/b/.git/config: [include]\n\tpath = x\n", "w/a/b/.git/hooks/x"}, []string{"w/a/b/.git/config", "w/a/b/.git/hooks"}},
		"a repository elsewhere":     {nil, []string{"w/.git: gitdir: evil\n", "w/evil/config"}, []string{"w/.git"}},
		"a commondir":                {[]string{"w/.git/HEAD"}, []string{"w/.git/commondir: ../evil\n"}, []string{"w/.git/commondir"}},
		"a second config":            {[]string{"w/.git/HEAD"}, []string{"w/.git/config.worktree: x"}, []string{"w/.git/config.worktree"}},
		"a bare repository":          {nil, []string{"w/b/HEAD", "w/b/objects/", "w/b/refs/", "w/b/config: [core]\n\tfsmonitor = x\n"}, []string{"w/b/config"}},
		"a bare one by commondir":    {nil, []string{"w/b/HEAD", "w/b/commondir: ../e\n"}, []string{"w/b/commondir"}},
		"files of editors":           {nil, []string{"w/.vscode/tasks.json", "w/x/.envrc", "w/x/CLAUDE.md", "w/.idea/"}, []string{"w/.idea", "w/.vscode", "w/x/.envrc", "w/x/CLAUDE.md"}},
		"as a link":                  {nil, []string{"w/.vscode -> x", "w/x/tasks.json"}, []string{"w/.vscode"}},
		"where a link led":           {[]string{"w/CLAUDE.md -> d/x", "w/d/"}, []string{"w/d/x"}, []string{"w/d/x"}},
		"where a link led, by links": {[]string{"w/CLAUDE.md -> d/x/y", "w/d/"}, []string{"w/d/x -> ../e", "w/e/y"}, []string{"w/d/x"}},
		"half the way":               {[]string{"w/CLAUDE.md -> d/x/y", "w/d/"}, []string{"w/d/x/z"}, nil},
		"a gitdir elsewhere":         {[]string{"w/.git: gitdir: real\n", "w/real/HEAD"}, []string{"w/real/hooks/pre-push"}, []string{"w/real/hooks"}},
		"hooks elsewhere":            {[]string{"w/.git/config: [core]\n\thookspath = my/hooks\n", "w/my/"}, []string{"w/my/hooks/pre-commit"}, []string{"w/my/hooks"}},
		"what existed":               {[]string{"w/.git/hooks/x", "w/.git/config", "w/CLAUDE.md", "w/.vscode/x"}, nil, nil},
		"into what existed":          {[]string{"w/.vscode/x"}, []string{"w/sub/.vscode/x"}, []string{"w/sub/.vscode"}},
		"installed packages":         {nil, []string{"w/node_modules/p/.vscode/x", "w/node_modules/p/CLAUDE.md"}, nil},
		"a submodule of a worktree":  {[]string{"w/.git/worktrees/t/commondir: ../..\n"}, []string{"w/.git/worktrees/t/modules/s/hooks/x"}, []string{"w/.git/worktrees/t/modules/s/hooks"}},
		"a submodule named so": {nil, []string{"w/.git/modules/a/info/b/HEAD", "w/.git/modules/a/info/b/objects/", "w/.git/modules/a/info/b/refs/", "w/.git/modules/a/info/b/hooks/x"},
			[]string{"w/.git/modules/a/info/b/hooks"}},
		"branches named so":             {nil, []string{"w/.git/refs/heads/hooks/x", "w/.git/refs/heads/config", "w/.git/logs/HEAD", "w/.git/logs/refs/heads/config"}, nil},
		"a remote of old":               {nil, []string{"w/.git/remotes/origin: URL: /e\n"}, []string{"w/.git/remotes"}},
		"a branch of old":               {nil, []string{"w/.git/branches/origin: /e\n"}, []string{"w/.git/branches"}},
		"a command in a rebase":         {[]string{"w/.git/HEAD"}, []string{"w/.git/rebase-merge/git-rebase-todo: pick 1 a\n  exec touch x\n", "w/.git/rebase-merge/done"}, []string{"w/.git/rebase-merge/git-rebase-todo"}},
		"its short form, in a worktree": {[]string{"w/.git/worktrees/t/HEAD"}, []string{"w/.git/worktrees/t/rebase-merge/git-rebase-todo: x id\n"}, []string{"w/.git/worktrees/t/rebase-merge/git-rebase-todo"}},
		"in a submodule":                {[]string{"w/.git/modules/m/HEAD"}, []string{"w/.git/modules/m/rebase-merge/git-rebase-todo: x id\n"}, []string{"w/.git/modules/m/rebase-merge/git-rebase-todo"}},
		"added to one in progress":      {[]string{"w/.git/rebase-merge/git-rebase-todo: pick 1 a\n"}, []string{"w/.git/rebase-merge/git-rebase-todo: pick 1 a\nexec id\n"}, []string{"w/.git/rebase-merge/git-rebase-todo"}},
		"a rebase without one":          {nil, []string{"w/.git/rebase-merge/git-rebase-todo: pick 1 a\n# comment\n\nu refs/heads/x\n", "w/.git/rebase-merge/message"}, nil},
		"the user's own commands":       {[]string{"w/.git/rebase-merge/git-rebase-todo: exec make\n"}, nil, nil},
		"none of these":                 {nil, []string{"w/.git/branches/"}, nil},
		"a link that git writes through": {nil, []string{"w/.git/COMMIT_EDITMSG -> ../../out/x", "w/.git/logs/refs/heads/main -> /x", "w/.git/objects -> ../o", "w/.git/modules/m/index -> x", "w/.git/worktrees/t/HEAD -> x"},
			[]string{"w/.git/COMMIT_EDITMSG", "w/.git/logs/refs/heads/main", "w/.git/modules/m/index", "w/.git/objects", "w/.git/worktrees/t/HEAD"}},
		"one in a bare repository":       {nil, []string{"w/b/HEAD", "w/b/objects/", "w/b/refs/", "w/b/index -> /x"}, []string{"w/b/index"}},
		"a link that the user's git has": {[]string{"w/.git/objects -> ../../out", "w/.git/logs/HEAD -> /x"}, []string{"w/.git/x"}, nil},
		"packages behind a link":         {nil, []string{"w/node_modules/p/.vscode/x", "w/src -> node_modules/p"}, []string{"w/src"}},
		"a repository behind a link":     {nil, []string{"w/.git/x/.git/config: [core]\n\tfsmonitor = x\n", "w/a/src -> ../.git/x"}, []string{"w/a/src"}},
		"behind two links":               {nil, []string{"w/node_modules/p/d -> ../q", "w/node_modules/q/CLAUDE.md", "w/src -> node_modules/p"}, []string{"w/src"}},
		"links in a circle":              {nil, []string{"w/node_modules/p/d -> ../q", "w/node_modules/q/e -> ../p", "w/src -> node_modules/p", "w/tsc -> node_modules/q"}, nil},
		"a link that was there":          {[]string{"w/node_modules/p/CLAUDE.md", "w/src -> node_modules/p"}, []string{"w/node_modules/p/x"}, nil},
		"new behind an old link":         {[]string{"w/node_modules/p/CLAUDE.md", "w/src -> node_modules/p"}, []string{"w/node_modules/p/.envrc"}, []string{"w/src"}},
		"a link to nothing that runs":    {nil, []string{"w/node_modules/p/x", "w/src -> node_modules/p", "w/x -> src/x", "w/out -> ../out"}, nil},
		"an empty one":                   {nil, []string{"w/.envrc/"}, []string{"w/.envrc"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newWorld(t)
			v.make(tt.before...)
			w := v.survey().Watch(&v.policy)
			v.make(tt.after...)
			if d := cmp.Diff(tt.want, v.sweep(w)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if got := v.sweep(w); got != nil {
				t.Errorf("the second sweep moved %v", got)
			}
			if left, _ := os.ReadDir(v.state); (len(left) > 0) != (len(tt.want) > 0) {
				t.Errorf("quarantines: %v", left)
			}
		})
	}
}

// proves A-POL-13
func TestQuarantineIsTheUsersOwnAndTellsWhatItHolds(t *testing.T) {
	v := newWorld(t)
	w := v.survey().Watch(&v.policy)
	v.make("w/.envrc: export X=1", "w/a/.envrc: export Y=2")
	v.sweep(w)
	st, err := os.Stat(v.state + "/task")
	must(t, err)
	if st.Mode() != os.ModeDir|0o700 {
		t.Errorf("mode %v", st.Mode())
	}
	f, err := os.Open(v.state + "/task/" + Index)
	must(t, err)
	defer f.Close()
	want := map[string]string{v.w + "/.envrc": "export X=1", v.w + "/a/.envrc": "export Y=2"}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line struct{ Item, Path string }
		must(t, json.Unmarshal(lines.Bytes(), &line))
		if b, _ := os.ReadFile(v.state + "/task/" + line.Item); string(b) != want[line.Path] {
			t.Errorf("%s holds %q", line.Path, b)
		}
		delete(want, line.Path)
	}
	if len(want) > 0 {
		t.Errorf("not in the index: %v", want)
	}
}

// A task cannot hide what it left: by closing the directories around it, or by depth. The modes are as it set them.
//
// proves A-POL-13
func TestNothingHidesFromTheSweep(t *testing.T) {
	v := newWorld(t)
	w := v.survey().Watch(&v.policy)
	v.make("w/a/b/.git/hooks/x", "w/c/.envrc")
	deep := v.w + strings.Repeat("/d", 300)
	must(t, os.MkdirAll(deep, 0o755))
	for _, d := range []string{"/a/b/.git/hooks", "/a/b/.git", "/a/b", "/a", "/c"} {
		must(t, os.Chmod(v.w+d, 0))
	}
	got := v.sweep(w)
	want := []string{"w/a/b/.git/hooks", "w/c/.envrc", "w" + strings.Repeat("/d", 256)}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, d := range []string{"/a", "/c"} {
		if st, err := os.Stat(v.w + d); err != nil || st.Mode().Perm() != 0 {
			t.Errorf("%s: %v, %v", d, st.Mode(), err)
		}
		must(t, os.Chmod(v.w+d, 0o700))
	}
}

// However a task closes directories, the root itself too, the sweep ends and finds everything. Only an ordinary user is held
// up by modes.
//
// proves A-POL-13
func TestClosedDirectoriesHideNothing(t *testing.T) {
	if os.Geteuid() == 0 {
		asOrdinaryUser(t)
		return
	}
	for _, mode := range []os.FileMode{0, 0o100, 0o200, 0o400, 0o500, 0o600} {
		for _, closed := range []string{"", "/a", "/a/b", "/a/b/.git", "/a/b/.git/hooks"} {
			v := newWorld(t)
			w := v.survey().Watch(&v.policy)
			v.make("w/a/b/.git/hooks/x", "w/z/.envrc")
			must(t, os.Chmod(v.w+closed, mode))
			state, err := os.Open(v.state)
			must(t, err)
			q := NewQuarantine(fileop.OS(), state, "task")
			moved, gone, err := Sweep(t.Context(), fileop.OS(), w, q)
			if err = errors.Join(err, q.Close(), state.Close()); err != nil || len(moved) != 2 || len(gone) > 0 {
				t.Errorf("%q %o: moved %v, gone %v, %v", closed, mode, moved, gone, err)
			}
			if st, err := os.Stat(v.w + closed); closed != "/a/b/.git/hooks" && (err != nil || st.Mode().Perm() != mode) {
				t.Errorf("%q %o: the mode is %v, %v", closed, mode, st.Mode(), err)
			}
			// The next task is told which directory it cannot see into.
			if e := asFault(Survey(t.Context(), &v.policy)); closed != "/a/b/.git/hooks" && mode != 0o500 && (e == nil || e.Variant != "unreadable" || e.Target != v.w+closed) {
				t.Errorf("%q %o: the survey gave %v", closed, mode, e)
			}
			must(t, exec.Command("chmod", "-R", "u+rwX", v.w, v.state).Run())
		}
	}
}

func asFault(f *Findings, err error) *fault.Error {
	if f != nil {
		f.Close()
	}
	return fault.As(err)
}

// asOrdinaryUser runs the calling test again without root's rights.
func asOrdinaryUser(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "guard-")
	must(t, err)
	defer os.RemoveAll(dir)
	program, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(dir+"/test", program, 0o755))
	must(t, os.Mkdir(dir+"/tmp", 0o755))
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chown(dir+"/tmp", 65533, 65533))
	cmd := exec.Command(dir+"/test", "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir + "/tmp", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}

// HOME stays from task to task and is not swept, so nothing in a root may lead to what tools would run in it.
//
// proves A-POL-13, A-SBX-08
func TestNoLinkLeadsToToolsInHome(t *testing.T) {
	v := newWorld(t)
	w := v.survey().Watch(&v.policy)
	v.make("out/go/x", "out/p/.git/config: [core]\n\tfsmonitor = x\n", "w/cache -> ../out/go", "w/src -> ../out/p", "w/all -> ../out")
	if got := v.sweep(w); got != nil {
		t.Errorf("outside of HOME: moved %v", got)
	}
	w.Home = v.out
	must(t, w.Check())
	if d := cmp.Diff([]string{"w/all", "w/src"}, v.sweep(w)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// A link may lead through a directory that can only be searched; where it leads out, nobody asks what is there.
//
// proves A-POL-13
func TestLinksAreFollowedInsideOnly(t *testing.T) {
	v := newWorld(t)
	v.make("w/node_modules/p/.envrc", "w/in -> ../w/./node_modules/p", "w/round -> ../out/back", "out/back -> ../w/node_modules/p", "w/self -> self", "w/up -> ../../../../../..")
	must(t, os.Chmod(v.w+"/node_modules", 0o100))
	defer os.Chmod(v.w+"/node_modules", 0o700)
	b := &behind{roots: []WatchedRoot{{Path: v.w}}}
	for name, want := range map[string]string{"/in": v.w + "/node_modules/p", "/round": "", "/self": "", "/up": "/", "/none": ""} {
		if got, ok := b.follow(v.w + name); got != want || ok != (want != "") {
			t.Errorf("%s leads to %q, %v", name, got, ok)
		}
	}
}

// The user replaces a file while a task runs, and the kernel drops the mount that protected it: nobody can tell whose bytes
// they are, so it is reported and stays.
//
// proves A-POL-13
func TestWhatWasReplacedIsReported(t *testing.T) {
	v := newWorld(t)
	v.make("w/CLAUDE.md: old", "w/AGENTS.md: old")
	w := v.survey().Watch(&v.policy)
	v.make("w/new: new")
	must(t, os.Rename(v.w+"/new", v.w+"/CLAUDE.md"))
	if d := cmp.Diff([]string{"w/CLAUDE.md (replaced)"}, v.sweep(w)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// On another file system than the state root the quarantine lies in the root itself.
//
// proves A-POL-13
func TestQuarantineOnAnotherFileSystem(t *testing.T) {
	shm, err := os.MkdirTemp("/dev/shm", "guard-")
	must(t, err)
	defer os.RemoveAll(shm)
	v := newWorld(t)
	var a, b unix.Stat_t
	must(t, unix.Stat(shm, &a))
	must(t, unix.Stat(v.state, &b))
	if a.Dev == b.Dev {
		t.Fatal("blocked: the scratch directories are on one file system")
	}
	v.policy.Roots = nil
	v.grant(shm)
	w := v.survey().Watch(&v.policy)
	must(t, os.MkdirAll(shm+"/x/.vscode", 0o755))
	must(t, os.WriteFile(shm+"/x/.vscode/tasks.json", []byte("{}"), 0o644))
	v.sweep(w)
	found, err := filepath.Glob(shm + "/" + insidePrefix + "*/1/tasks.json")
	must(t, err)
	if len(found) != 1 {
		t.Errorf("found %v", found)
	}
	if left, _ := os.ReadDir(v.state); len(left) > 0 {
		t.Errorf("left in the state root: %v", left)
	}
}

// A server that dies anywhere in the sweep leaves each object at its old or its new place, and the next one moves the rest.
//
// proves A-POL-13, A-TX-04
func TestSweepSurvivesAStopAnywhere(t *testing.T) {
	for k := 1; ; k++ {
		v := newWorld(t)
		w := v.survey().Watch(&v.policy)
		v.make("w/.envrc: 1", "w/a/.vscode/x: 2", "w/a/CLAUDE.md: 3")
		fsys := crashfs.New(fileop.OS(), k, nil, crashfs.Torn(nil))
		state, err := os.Open(v.state)
		must(t, err)
		q := NewQuarantine(fsys, state, "task")
		_, _, err = Sweep(t.Context(), fsys, w, q)
		err = errors.Join(err, q.Close())
		if !fsys.Stopped() {
			must(t, err)
			state.Close()
			if k < 8 {
				t.Errorf("only %d calls", k)
			}
			return
		}
		state.Close()
		v.sweep(w)
		texts := map[string]bool{}
		for _, p := range []string{"/task/1", "/task/2", "/task/3", "/task/4", "/task/5", "/task/6"} {
			b, err := os.ReadFile(v.state + p)
			if err != nil {
				b, _ = os.ReadFile(v.state + p + "/x")
			}
			texts[string(b)] = true
		}
		if !texts["1"] || !texts["2"] || !texts["3"] {
			t.Errorf("k=%d: in quarantine: %v", k, texts)
		}
		for _, p := range []string{"/.envrc", "/a/.vscode", "/a/CLAUDE.md"} {
			if _, err := os.Lstat(v.w + p); err == nil {
				t.Errorf("k=%d: %s is still there", k, p)
			}
		}
	}
}
