package matrix

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sekisho/internal/sandbox/policy"
)

const (
	readonly    = policy.ProfileReadonly
	development = policy.ProfileDevelopment
)

var contains = strings.Contains

var profileCases = []Case{
	{"ST-01", "readonly workspace: read", "succeeds", in(readonly, func(w *world) {
		w.succeeds(
			probe{"read a file", at("read", "W/f"), func(l *layout, o output) bool { return o.OK && o.Detail == "old" }, false},
			probe{"list a directory", at("list", "W/d"), func(l *layout, o output) bool { return o.OK && contains(o.Detail, "e") }, false},
		)
	})},
	{"ST-02", "readonly workspace: write, delete, execute", "all refused", in(readonly, func(w *world) {
		w.refused(writes("W")...)
		w.refused(deletes("W")...)
		w.refused(executes("W")...)
	})},
	{"ST-03", "development workspace: read, write, delete", "succeed", in(development, func(w *world) {
		w.succeeds(probe{"read", at("read", "W/f"), func(l *layout, o output) bool { return o.Detail == "old" }, false})
		w.succeeds(writes("W")...)
		w.succeeds(deletes("W")...)
	})},
}

// at makes arguments of an action with paths: "W/f" is f in the layout's workspace, likewise R/, RW/, EVIL/, TOOLS/; "S" is
// the secret, "DIR" the layout's own directory.
func at(action string, words ...string) func(l *layout) []string {
	return func(l *layout) []string {
		args := []string{action}
		for _, word := range words {
			args = append(args, l.path(word))
		}
		return args
	}
}

func (l *layout) path(word string) string {
	head, rest, slash := strings.Cut(word, "/")
	roots := map[string]string{"W": l.W, "R": l.R, "RW": l.RW, "EVIL": l.Evil, "TOOLS": l.Tools, "S": l.S, "DIR": l.dir, "TOKEN": l.Token}
	root, ok := roots[head]
	switch {
	case !ok:
		return word
	case slash:
		return root + "/" + rest
	}
	return root
}

func is(word, text string) func(l *layout, o output) bool {
	return func(l *layout, o output) bool { return reads(l.path(word)) == text }
}

func exists(word string) func(l *layout, o output) bool {
	return func(l *layout, o output) bool { return there(l.path(word)) }
}

func gone(word string) func(l *layout, o output) bool {
	return func(l *layout, o output) bool { return !there(l.path(word)) }
}

// writes are the ways to write that need no right to delete, each on its own names.
func writes(root string) []probe {
	return []probe{
		{root + ": write", at("write", root+"/f", "new"), is(root+"/f", "new"), false},
		{root + ": create", at("create", root+"/made", "new"), is(root+"/made", "new"), false},
		{root + ": append", at("append", root+"/g", "er"), is(root+"/g", "older"), false},
		{root + ": truncate", at("truncate", root+"/g", "1"), is(root+"/g", "o"), false},
		{root + ": open with truncation", at("open-truncate", root+"/g"), is(root+"/g", ""), false},
		{root + ": make a directory", at("mkdir", root+"/sub"), exists(root + "/sub"), false},
		{root + ": make a link", at("symlink", "target", root+"/sym"), exists(root + "/sym"), false},
		{root + ": link a file", at("link", root+"/d/f", root+"/d/hard"), exists(root + "/d/hard"), false},
		{root + ": make a FIFO", at("mknod", root+"/pipe", "fifo"), exists(root + "/pipe"), false},
	}
}

// deletes are the ways to take a name away, each on its own names.
func deletes(root string) []probe {
	return []probe{
		{root + ": rename over another file", at("rename", root+"/d/f", root+"/f"), gone(root + "/d/f"), false},
		{root + ": exchange", at("exchange", root+"/f", root+"/d"), func(l *layout, _ output) bool {
			info, err := os.Stat(l.path(root + "/f"))
			return err == nil && info.IsDir()
		}, false},
		{root + ": rename", at("rename", root+"/g", root+"/renamed"), exists(root + "/renamed"), false},
		{root + ": unlink", at("unlink", root+"/u"), gone(root + "/u"), false},
		{root + ": remove a directory", at("rmdir", root+"/empty"), gone(root + "/empty"), false},
	}
}

// executes are the ways to run a program that lies in a root; "true" must be there.
func executes(root string) []probe {
	return []probe{
		{root + ": execute", at("exec", root+"/true"), reached, false},
		{root + ": through the loader", at("ldso-exec", loader(), root+"/true"), reached, false},
		{root + ": map executable", at("mmap-exec", root+"/true"), reached, false},
	}
}

// loader is the dynamic loader of this machine.
func loader() string {
	for _, pattern := range []string{"/lib64/ld-linux-*.so.*", "/lib/ld-linux-*.so.*", "/lib/ld-musl-*.so.1"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	return "/lib64/ld.so"
}

var linkCases = []Case{
	{"ST-05", "leaving the roots through a symbolic link", "refused, by processes and file tools alike", in(development, func(w *world) {
		w.both(func(l *layout) error {
			return errors.Join(os.Symlink(l.S, l.W+"/absolute"), os.Symlink("../outside/secret", l.W+"/relative"), os.Symlink(l.dir+"/outside", l.W+"/dirlink"))
		})
		for _, name := range []string{"absolute", "relative", "dirlink/secret"} {
			w.refused(probe{"read " + name, at("read", "W/"+name), knows, false},
				probe{"write " + name, at("write", "W/"+name, "changed"), is("S", "changed"), false})
			w.both(func(l *layout) error { return l.write(l.S, l.Secret) })
			w.toolRefused("W/" + name)
		}
	})},
	{"ST-06", "chain of symbolic links; cycle", "outside target refused; a cycle fails closed", in(development, func(w *world) {
		w.both(func(l *layout) error {
			return errors.Join(os.Symlink("b", l.W+"/a"), os.Symlink(l.W+"/c", l.W+"/b"), os.Symlink(l.S, l.W+"/c"),
				os.Symlink("y", l.W+"/x"), os.Symlink("x", l.W+"/y"))
		})
		w.refused(probe{"read through the chain", at("read", "W/a"), knows, false})
		w.toolRefused("W/a")
		o := w.inside(w.real.Payload, "read", w.real.W+"/x")
		w.Check("the cycle", !o.OK && o.Errno == "ELOOP", "got %v", o)
		w.toolRefused("W/x")
	})},
}

// toolRefused requires that the file tools' resolution refuses a path. The control of a path is its readability by an
// ordinary open, which follows it out of the roots; a cycle has none and needs none.
func (w *world) toolRefused(word string) {
	set, err := w.env.Roots(w.policy.Roots)
	if err != nil {
		w.Fail("file tools on "+word, "opening the roots: %v", err)
		return
	}
	defer set.Close()
	control, err := os.ReadFile(w.twin.path(word))
	if err != nil && !errors.Is(err, syscall.ELOOP) {
		w.Block("file tools on "+word, "the control: %v", err)
	}
	text, err := toolRead(set, w.real.path(word))
	if err == nil {
		w.Fail("file tools on "+word, "it was read: %q", text)
		return
	}
	if len(control) > 0 || errors.Is(err, syscall.ELOOP) || there(w.twin.path(word)) {
		w.Pass("file tools on " + word)
	}
}
