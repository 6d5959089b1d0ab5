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

	"golang.org/x/sys/unix"

	"sekisho/test/asuser"
)

// shell is an attempt of a shell script in the layout's workspace; the words of layout.words may stand anywhere in it.
func shell(what, script string, e effect) attempt {
	return attempt{what: what, args: []string{"exec", "/bin/sh", "-c", "cd $1; S=$2; R=$3; RW=$4; TOOLS=$5; DIR=$6; " + script, "sh", "W", "S", "R", "RW", "TOOLS", "DIR"}, effect: e}
}

func whole(path string) map[string]any { return map[string]any{"path": path, "mode": "whole"} }

func found(root string) map[string]any {
	return map[string]any{"root": root, "mode": "text", "query": "secret-"}
}

func overwrite(path string) map[string]any {
	return map[string]any{"path": path, "operation": "overwrite", "content": "planted", "patch": nil, "expected_sha256": nil, "new_path": nil}
}

func leaked(l *layout, r result) bool {
	return strings.Contains(r.Text, l.Secret) || strings.Contains(r.Status, l.Secret)
}

// opens is a careless tool that reads the path.
func opens(word string) func(l *layout) bool {
	return func(l *layout) bool { return strings.Contains(reads(l.path(word)), l.Secret) }
}

// reader asks file_read and file_search for a path that must not be read.
func reader(word string) []asked {
	return []asked{
		{"file_read of " + word, "file_read", whole(word), leaked, opens(word)},
		{"file_search in " + word, "file_search", found(word), leaked, opens(word)},
	}
}

var fileAttacks = []attack{
	{id: "1", play: func(w *world) {
		w.refused(attempt{"a program reads a directory whose name begins with the workspace's", []string{"read", "EVIL/s"}, knows, ""},
			attempt{"a program writes there", []string{"write", "EVIL/s", "new"}, is("EVIL/s", "new"), ""})
		write(w.twin.Evil+"/s", w.twin.Secret)
		w.toolRefused(reader("EVIL/s")...)
		w.toolRefused(asked{"file_edit there", "file_edit", overwrite("EVIL/planted"), func(l *layout, _ result) bool { return there(l.Evil + "/planted") },
			func(l *layout) bool { return write(l.Evil+"/planted", "planted") == nil }})
	}},
	{id: "2", play: func(w *world) {
		w.refused(shell("a program makes a link out of the workspace and reads it", "ln -s $S made; cat made", knows))
		w.toolRefused(reader("W/made")...)
	}},
	{id: "3", play: func(w *world) {
		w.refused(shell("a chain of links made inside", "ln -s b a; ln -s c b; ln -s $S c; ln -s y x; ln -s x y; cat a", knows))
		w.toolRefused(reader("W/a")...)
		begun := time.Now()
		o := w.inside("read", "W/x")
		w.check("a cycle of links, read by a program", o.Errno == "ELOOP" && time.Since(begun) < 5*time.Second, "%v", o)
		r, err := w.v.call(w.ctx, "file_read", whole(w.real.W+"/x"))
		w.check("a cycle of links, read by file_read", err == nil && !r.OK && time.Since(begun) < 10*time.Second, "%s, no hang", r.Code)
	}},
	{id: "5", play: swapped},
	{id: "6", play: func(w *world) {
		for _, path := range []string{"W/../outside/secret", "W//..//outside/secret", "W/./../outside/./secret", "W/d/../../outside/secret"} {
			w.refused(attempt{path, []string{"read", path}, knows, ""})
			w.toolRefused(reader(path)...)
		}
	}},
	{id: "7", play: func(w *world) {
		// Of /etc/shadow only its first word is known; a user who may not read it has no control on it.
		shadow := func(l *layout, r result) bool { return strings.Contains(r.Text, "root:") }
		cannot := ""
		if os.Geteuid() != 0 {
			cannot = "this user may not read it anyway"
		}
		w.refused(attempt{"a program reads /etc/shadow", []string{"read", "/etc/shadow"}, reached, cannot})
		if os.Geteuid() == 0 {
			w.toolRefused(asked{"file_read of /etc/shadow", "file_read", whole("/etc/shadow"), shadow, func(*layout) bool { return reads("/etc/shadow") != "" }})
		}
		w.toolRefused(asked{"file_read of /etc/passwd", "file_read", whole("/etc/passwd"), shadow, func(*layout) bool { return strings.Contains(reads("/etc/passwd"), "root:") }})
		lists := func(l *layout) bool { return there(l.Dir + "/outside/secret") }
		w.toolRefused(
			asked{"dir list of the workspace's parent", "dir", map[string]any{"path": "DIR", "operation": "list"}, func(l *layout, r result) bool { return strings.Contains(r.Text, "outside") }, lists},
			asked{"file_search in the workspace's parent", "file_search", found("DIR"), leaked, lists})
		w.refused(attempt{"a program lists the workspace's parent", []string{"list", "DIR/outside"}, func(_ *layout, o output) bool { return strings.Contains(o.Detail, "secret") }, ""})
	}},
	{id: "8", set: settings{before: both(func(l *layout) error { return os.Link(l.S, l.W+"/h") })}, play: func(w *world) {
		control := w.outside("write", "W/h", "new")
		o := w.inside("write", "W/h", "new")
		ok := reads(w.real.S) == w.real.Secret && o.Code != "" && reads(w.twin.S) == "new"
		w.check("writing through a hard link that was there before and leads outside", ok, "the task is refused: %v; control %v", o.Code, control)
	}},
	{id: "9", play: func(w *world) {
		w.refused(attempt{"a hard link from a read-only root into the workspace", []string{"link", "R/f", "W/stolen"}, exists("W/stolen"), ""})
	}},
	{id: "10", play: func(w *world) {
		w.refused(
			attempt{"rename out of a read-only root", []string{"rename", "R/f", "W/stolen"}, exists("W/stolen"), ""},
			attempt{"rename into a read-only root", []string{"rename", "W/f", "R/planted"}, exists("R/planted"), ""},
			attempt{"rename out of a root without the right to delete", []string{"rename", "RW/f", "W/taken"}, gone("RW/f"), ""},
			attempt{"rename into a root with the right to execute", []string{"rename", "RW/true", "TOOLS/true"}, exists("TOOLS/true"), ""})
	}},
	{id: "11", set: settings{nested: true, before: both(func(l *layout) error {
		return errors.Join(os.MkdirAll(l.R+"/inner/sub", 0o755), write(l.R+"/inner/sub/f", "old"), os.Mkdir(l.R+"/inner/other", 0o755), write(l.R+"/inner/other/f", "old"))
	})}, play: func(w *world) {
		w.refused(
			attempt{"a directory of a read-only root into the writable root in it", []string{"rename", "R/d", "R/inner/d"}, exists("R/inner/d/f"), ""},
			attempt{"out of the inner root into the read-only one", []string{"rename", "R/inner/sub", "R/sub"}, exists("R/sub"), ""},
			attempt{"exchange between the two", []string{"exchange", "R/inner/other", "R/empty"}, exists("R/empty/f"), ""},
			attempt{"write beside the inner root", []string{"write", "R/f", "new"}, is("R/f", "new"), ""},
			attempt{"rename the inner root away", []string{"rename", "R/inner", "R/away"}, exists("R/away"), ""})
		w.succeeds(attempt{"write in the inner root", []string{"write", "R/inner/sub/f", "new"}, is("R/inner/sub/f", "new"), ""})
	}},
	{id: "12", play: func(w *world) {
		w.succeeds(attempt{"create without the right to delete", []string{"create", "RW/new", "x"}, exists("RW/new"), ""},
			attempt{"append", []string{"append", "RW/g", "x"}, is("RW/g", "oldx"), ""}, attempt{"truncate", []string{"truncate", "RW/u", "0"}, is("RW/u", ""), ""})
		w.refused(attempt{"unlink", []string{"unlink", "RW/f"}, gone("RW/f"), ""}, attempt{"rmdir", []string{"rmdir", "RW/empty"}, gone("RW/empty"), ""},
			attempt{"rename", []string{"rename", "RW/d", "RW/d2"}, exists("RW/d2"), ""}, attempt{"rename over", []string{"rename", "RW/u", "RW/g"}, gone("RW/u"), ""},
			attempt{"exchange", []string{"exchange", "RW/true", "RW/g"}, func(l *layout, _ output) bool { return len(reads(l.RW+"/g")) > 1000 }, ""})
	}},
	{id: "13", play: func(w *world) {
		w.refused(attempt{"truncate without the right to write", []string{"truncate", "R/f", "0"}, is("R/f", ""), ""},
			attempt{"open for reading with truncation", []string{"open-truncate", "R/g"}, is("R/g", ""), ""})
	}},
	{id: "14", play: func(w *world) {
		w.refused(
			attempt{"chmod on a read-only root", []string{"chmod", "R/f", "0777"}, func(l *layout, _ output) bool {
				info, err := os.Stat(l.R + "/f")
				return err == nil && info.Mode().Perm() == 0o777
			}, ""},
			attempt{"utime", []string{"touch", "R/f"}, func(l *layout, _ output) bool {
				info, err := os.Stat(l.R + "/f")
				return err == nil && info.ModTime().Unix() == 1
			}, ""},
			attempt{"an extended attribute", []string{"setxattr", "R/f", "user.planted", "x"}, func(l *layout, _ output) bool {
				n, err := unix.Getxattr(l.R+"/f", "user.planted", nil)
				return err == nil && n == 1
			}, ""})
	}},
	{id: "15", play: func(w *world) {
		for _, root := range []string{"R", "RW"} {
			w.refused(attempt{"execute a program of " + root, []string{"exec", root + "/true"}, reached, ""},
				attempt{"map a file of " + root + " executable", []string{"mmap-exec", root + "/true"}, reached, ""})
		}
		r, err := w.v.call(w.ctx, "process_run", map[string]any{"executable": w.real.R + "/true", "args": []string{}, "cwd": w.real.W, "stdin": nil, "timeout_seconds": 10})
		w.check("process_run of a program of a read-only mount", err == nil && !r.OK && strings.HasPrefix(r.Code, "executable."), "%s", r.Code)
	}},
	{id: "16", play: func(w *world) {
		for _, root := range []string{"R", "RW"} {
			w.refused(attempt{"the loader on a program of " + root, []string{"ldso-exec", loader(), root + "/true"}, reached, ""})
		}
		w.succeeds(attempt{"the loader where execution is granted", []string{"ldso-exec", loader(), "W/true"}, reached, ""})
	}},
	{id: "17", play: func(w *world) {
		w.succeeds(attempt{"a program that exists only in memory", []string{"memfd-exec", "TOOLS/payload", "ids"}, reached, ""})
		w.refused(attempt{"it reads the secret", []string{"memfd-exec", "TOOLS/payload", "read", "S"}, knows, ""})
	}},
	{id: "17", set: settings{profile: "readonly"}, play: func(w *world) {
		w.refused(attempt{"a program in memory under profile readonly", []string{"memfd-exec", "TOOLS/payload", "ids"}, reached, ""},
			attempt{"a sealed one, by the loader", []string{"memfd-sealed", loader(), "/usr/bin/true"}, reached, ""})
	}},
	{id: "18", play: func(w *world) {
		bits := func(l *layout, _ output) bool {
			info, err := os.Stat(l.W + "/true")
			return err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0
		}
		w.refused(attempt{"chmod 6755 of a copy", []string{"chmod", "W/true", "06755"}, bits, ""})
		for _, call := range []string{"fchmodat", "fchmodat2", "fchmod"} {
			os.Chmod(w.twin.W+"/true", 0o755)
			w.refused(attempt{"the same by " + call, []string{"set-id", call, "W/true", "6755"}, bits, ""})
		}
		for _, call := range []string{"openat", "openat2", "tmpfile", "mknodat"} {
			w.refused(attempt{"made so by " + call, []string{"set-id", call, "W/made-" + call, "6755"}, func(l *layout, _ output) bool {
				info, err := os.Stat(l.W + "/made-" + call)
				return err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0
			}, ""})
		}
		cannot := ""
		for _, l := range []*layout{w.real, w.twin} {
			set := l.W + "/set"
			err := copyFile(l.Payload, set)
			if os.Geteuid() == 0 {
				err = errors.Join(err, os.Chown(set, asuser.Other, asuser.Other))
			} else {
				cannot = "only root can put another user's program there"
			}
			if err := errors.Join(err, os.Chmod(set, 0o755|os.ModeSetuid|os.ModeSetgid)); err != nil {
				w.row(failed, "the fixture", err.Error())
			}
		}
		w.refused(attempt{"another user's setuid program that was there before", []string{"exec", "W/set", "ids"}, func(_ *layout, o output) bool {
			var uid, euid, gid, egid int
			_, said, _ := strings.Cut(o.Detail, `"detail":"`)
			n, _ := fmt.Sscanf(said, "uid %d euid %d gid %d egid %d", &uid, &euid, &gid, &egid)
			return n == 4 && (uid != euid || gid != egid)
		}, cannot})
	}},
	{id: "19", play: func(w *world) {
		root := ""
		if os.Geteuid() != 0 {
			root = "only root could"
		}
		w.refused(attempt{"a character device", []string{"mknod", "W/c", "char"}, exists("W/c"), root}, attempt{"a block device", []string{"mknod", "W/b", "block"}, exists("W/b"), root},
			attempt{"a socket file", []string{"mknod", "W/s", "socket"}, exists("W/s"), ""})
		w.succeeds(attempt{"a FIFO", []string{"mknod", "W/p", "fifo"}, exists("W/p"), ""})
	}},
	{id: "20", play: func(w *world) {
		for what, spoil := range map[string]func(dir string) (config, state, workspace string){
			"the configuration in the workspace": func(dir string) (string, string, string) {
				return dir + "/w/.agent/agent.yaml", dir + "/state", dir + "/w"
			},
			"the state in the workspace": func(dir string) (string, string, string) { return dir + "/agent.yaml", dir + "/w/state", dir + "/w" },
			"the workspace in the state": func(dir string) (string, string, string) {
				return dir + "/agent.yaml", dir, dir + "/agent-mcp/w"
			},
			"control": func(dir string) (string, string, string) { return dir + "/agent.yaml", dir + "/state", dir + "/w" },
		} {
			dir := w.s.dir + "/" + strings.ReplaceAll(what, " ", "-")
			config, state, workspace := spoil(dir)
			err := errors.Join(os.MkdirAll(filepath.Dir(config), 0o755), os.MkdirAll(workspace, 0o755), os.MkdirAll(state, 0o700),
				write(config, fmt.Sprintf("schema_version: 2\nollama: {endpoint: %q, model: m, think: false}\nsandbox: {workspaces: [%q], resources: {cgroup: %q}}\n", w.s.model.URL(), workspace, w.cgroup)))
			cmd := w.s.command(w.ctx, w.s.program, "apply", config, "--yes")
			cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
			out, aerr := cmd.CombinedOutput()
			w.check("apply with "+what, err == nil && (aerr == nil) == (what == "control"), "%v %s", aerr, strings.ReplaceAll(string(out), dir, "DIR"))
		}
	}},
	{id: "21", set: settings{before: both(repository)}, play: protectedFiles},
	{id: "24", set: settings{before: both(func(l *layout) error { return os.Symlink(l.Dir+"/outside", l.Dir+"/trap") })}, play: swappedRoot},
	{id: "25", play: func(w *world) {
		cannot := ""
		if os.Geteuid() != 0 {
			cannot = "only root may use handles at all"
		}
		w.refused(attempt{"open_by_handle_at", []string{"handle", "W"}, reached, cannot},
			attempt{"name_to_handle_at", []string{"syscall", fmt.Sprint(unix.SYS_NAME_TO_HANDLE_AT), "-100", "buf", "buf", "buf", "0x1000"}, func(_ *layout, o output) bool { return o.Errno != "EPERM" }, ""})
	}},
}

func both(do func(l *layout) error) func(real, twin *layout) error {
	return func(real, twin *layout) error { return errors.Join(do(real), do(twin)) }
}

// loader is the dynamic loader of this machine.
func loader() string {
	for _, path := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		if there(path) {
			return path
		}
	}
	return "/lib/ld.so"
}

// repository makes what a person's workspace holds that tools run later.
func repository(l *layout) error {
	return errors.Join(os.MkdirAll(l.W+"/.git/hooks", 0o755), write(l.W+"/.git/config", "old"), os.Mkdir(l.W+"/.vscode", 0o755),
		write(l.W+"/.vscode/tasks.json", "old"), os.MkdirAll(l.W+"/sub", 0o755), write(l.W+"/sub/CLAUDE.md", "old"))
}

func protectedFiles(w *world) {
	w.refused(
		shell("a hook", "echo x >.git/hooks/post-checkout", exists("W/.git/hooks/post-checkout")),
		shell("git's configuration", "echo x >>.git/config; rm -f .git/config", func(l *layout, _ output) bool { return reads(l.W+"/.git/config") != "old" }),
		shell("an editor's tasks", "echo x >.vscode/tasks.json; echo x >n; mv n .vscode/tasks.json", func(l *layout, _ output) bool { return reads(l.W+"/.vscode/tasks.json") != "old" }),
		shell("an agent's instructions", "rm -f sub/CLAUDE.md; echo x >sub/CLAUDE.md", func(l *layout, _ output) bool { return reads(l.W+"/sub/CLAUDE.md") != "old" }))
	for _, path := range []string{"W/.git/hooks/pre-commit", "W/.envrc", "W/sub/CLAUDE.md"} {
		w.toolRefused(asked{"file_edit of " + path, "file_edit", overwrite(path), func(l *layout, _ result) bool { return reads(l.path(path)) == "planted" },
			func(l *layout) bool { return write(l.path(path), "planted") == nil }})
	}
	plant := shell("", "mkdir -p new/.git/hooks .husky; echo x >new/.git/hooks/pre-push; echo x >.husky/pre-commit; echo x >.envrc; chmod 0 new", nil)
	w.outside(plant.args...)
	planted := w.inside(plant.args...)
	status, err := w.v.finish(w.ctx)
	for _, l := range []*layout{w.real, w.twin} {
		os.Chmod(l.W+"/new", 0o700)
	}
	for _, path := range []string{"/new/.git/hooks", "/.husky", "/.envrc"} {
		control := there(w.twin.W + path)
		w.check("a new "+path+", made by a program", err == nil && control && planted.OK && !there(w.real.W+path), "gone after the task; control %v; %s", control, field(status, "last_error"))
	}
	kept, _ := filepath.Glob(w.s.dir + "/state/agent-mcp/quarantine/*/*")
	w.check("what was moved is in the quarantine and in the audit", len(kept) >= 3 && strings.Count(w.s.audit(), `"file.quarantine"`) >= 3, "%d names there", len(kept))
}

// swappedRoot exchanges the read-only mount with a link to the secret's directory all the time, while tasks begin and read through it.
func swappedRoot(w *world) {
	leaks, ran, tries := 0, 0, 0
	script := []string{"read", "R/secret"}
	stop := w.swapping(w.twin.R, w.twin.Dir+"/trap")
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end) && leaks == 0; tries++ {
		// A careless product: checks that it is a directory, then uses the path.
		if info, err := os.Lstat(w.twin.R); err == nil && info.IsDir() && strings.Contains(reads(w.twin.R+"/secret"), w.twin.Secret) {
			leaks++
		}
	}
	stop()
	control := leaks
	leaks = 0
	stop = w.swapping(w.real.R, w.real.Dir+"/trap")
	begun := 0
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); begun++ {
		r, err := w.v.call(w.ctx, "process_run", map[string]any{"executable": "payload", "args": w.real.words(script), "cwd": w.real.W, "stdin": nil, "timeout_seconds": 10})
		if err != nil {
			w.row(failed, "a task while names change places", err.Error())
			break
		}
		if strings.Contains(r.Text, w.real.Secret) {
			leaks++
		} else if r.Text != "" {
			ran++
		}
		w.v.finish(w.ctx)
	}
	n := stop()
	w.check(fmt.Sprintf("%d tasks begin while a mount and a link to the secret change places (%d times)", begun, n), control > 0 && leaks == 0 && begun > 0 && n > 100,
		"the secret was read %d times; by the careless control it was (in %d tries); %d tasks ran, the others were refused", leaks, tries, ran)
}

// swapping lets another process exchange two names until the result is called, which tells how often it did.
func (w *world) swapping(a, b string) func() int {
	cmd := exec.CommandContext(w.ctx, w.twin.Payload, "swap-until", a, b)
	in, err := cmd.StdinPipe()
	var out strings.Builder
	cmd.Stdout = &out
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.row(failed, "a process that swaps", err.Error())
		return func() int { return 0 }
	}
	return func() (n int) {
		in.Close()
		cmd.Wait()
		o := output{Text: out.String()}
		o.decode()
		fmt.Sscan(o.Detail, &n)
		return n
	}
}
