package matrix

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
)

const patience = 10 * time.Second

// zombie tells whether a process has ended and only waits for its parent.
func zombie(pid int) bool {
	stat := reads(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(stat, ") ")
	return stat == "" || strings.HasPrefix(rest, "Z")
}

var attackProcessCases = []Case{
	{"AC-27", "descriptors of the broker's parent", "only 0, 1, 2", func(ctx ctxt, env Env, r *Report) {
		// A directory outside the roots, open in this process and not closed on exec.
		fd, err := unix.Open(env.Dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			r.Block("a descriptor", "%v", err)
			return
		}
		defer unix.Close(fd)
		in(development, func(w *world) {
			leaked := func(_ *layout, o output) bool { return contains(o.Detail, env.Dir) }
			w.refused(probe{"list", words("fds"), leaked, false})
			o := w.inside(w.real.Payload, "fds")
			w.Check("how many", o.OK && len(strings.Fields(o.Detail)) == 3, "%v", o)
			w.refused(probe{"walk up from a descriptor", at("list", fmt.Sprintf("/proc/self/fd/%d/..", fd)), reached, false})
		})(ctx, env, r)
	}},
	{"AC-28", "overwriting the program that runs (/proc/self/exe, /proc/1/exe)", "refused", in(development, func(w *world) {
		// A copy that does not run can be changed by the same call, so it is the refusal that protects it.
		w.both(func(l *layout) error { return copyFile(l.Payload, l.Tools+"/idle") })
		changed := func(word string) func(l *layout, _ output) bool {
			return func(l *layout, _ output) bool { return strings.HasSuffix(reads(l.path(word)), "changed") }
		}
		w.refused(probe{"a program of a runtime root", at("append", "TOOLS/idle", "changed"), changed("TOOLS/idle"), false})
		for _, path := range []string{"/proc/self/exe", "/proc/1/exe"} {
			o := w.inside(w.real.Payload, "append", path, "changed")
			w.Check(path, !o.OK && !changed("TOOLS/payload")(w.real, o), "%v", o)
		}
	})},
	{"AC-29", "/proc/<pid>/root as a way out", "denied", in(development, func(w *world) {
		w.refused(probe{"/proc/self/root", func(l *layout) []string { return []string{"read", "/proc/self/root" + l.S} }, knows, false},
			probe{"/proc/1/root", func(l *layout) []string { return []string{"read", "/proc/1/root" + l.S} }, knows, true},
			probe{"/proc/self/cwd", func(l *layout) []string { return []string{"read", "/proc/self/cwd/../outside/secret"} }, knows, false})
	})},
	{"AC-30", "namespaces of its own", "refused", in(development, func(w *world) {
		user, net := fmt.Sprint(unix.CLONE_NEWUSER), fmt.Sprint(unix.CLONE_NEWUSER|unix.CLONE_NEWNET)
		for _, action := range []string{"unshare", "clone", "clone3"} {
			w.refused(probe{action + " user", words(action, user), reached, false}, probe{action + " user and net", words(action, net), reached, false})
		}
		w.refused(probe{"setns", words("setns", "/proc/self/ns/uts"), reached, true},
			probe{"mount", at("mount", "tmpfs", "W/d", "tmpfs"), reached, true},
			probe{"bind", at("bind", "/usr", "W/d"), reached, true},
			probe{"chroot", at("chroot", "W"), reached, true}, probe{"unshare", words("unshare", user), reached, false})
		w.twinUnmount()
	})},
	{"AC-32", "TIOCSTI and TIOCLINUX, also with high bits", "EPERM, before any terminal is looked at", in(development, func(w *world) {
		// Unconfined the request gets as far as the descriptor, which is no terminal; and a plain one works inside.
		far := func(_ *layout, o output) bool { return o.OK || o.Errno == "ENOTTY" || o.Errno == "EIO" }
		for _, request := range []uint64{unix.TIOCSTI, unix.TIOCSTI | 1<<32, unix.TIOCLINUX, unix.TIOCLINUX | 0xffffffff00000000} {
			w.refused(probe{fmt.Sprintf("%#x", request), words("ioctl", "0", fmt.Sprintf("%#x", request)), far, false})
		}
		o := w.inside(w.real.Payload, "ioctl", "0", fmt.Sprint(unix.TCGETS))
		w.Check("TCGETS", far(w.real, o), "%v", o)
	})},
	{"AC-33", "system calls round the filter: io_uring, userfaultfd, handles, perf", "EPERM", in(development, func(w *world) {
		w.refused(probe{"io_uring", words("io-uring"), reached, false}, probe{"userfaultfd", words("userfaultfd"), reached, true},
			probe{"perf", words("perf"), reached, true}, probe{"keyring", words("keyctl"), reached, false})
	})},
	{"AC-35", "daemon: own session, forked twice, ignoring TERM; the entry ends, the time is over, the Job ends", "dead, all three", in(development, func(w *world) {
		w.daemonsEnd()
		w.closing()
	})},
	{"AC-36", "fork bomb with a time limit", "dead, and the host has none of it left", in(development, func(w *world) {
		// Bounded by its depth: 63 processes, of which the sandbox allows 16.
		w.both(func(l *layout) error {
			return l.write(l.W+"/bomb", fmt.Sprintf("echo $$ >>%s/pids; [ $1 -lt 5 ] && { sh %s/bomb $(($1+1)) & sh %s/bomb $(($1+1)) & }; exec sleep 3", l.W, l.W, l.W))
		})
		w.outside("/bin/sh", w.twin.W+"/bomb", "0")
		if n := strings.Count(reads(w.twin.W+"/pids"), "\n"); n < 40 {
			w.Block("the bomb", "the control started %d processes", n)
		}
		o := w.inside("/bin/sh", w.real.W+"/bomb", "0")
		w.Check("the limit", fault.CodeOf(o.fault) == fault.ResourceProcessLimit, "%v", o)
		before := reads(w.real.W + "/pids")
		w.Check("what is left", !await(w.ctx, 500*time.Millisecond, func() bool { return reads(w.real.W+"/pids") != before }), "it goes on")
	})},
	{"AC-39", "entry replaced after approval; edited in place; writer kept open", "refused", in(development, func(w *world) {
		changedEntry(w)
		path := w.real.W + "/program2"
		if err := copyFile(w.real.Payload, path); err != nil {
			w.Block("fixture", "%v", err)
			return
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			w.Block("a writer", "%v", err)
			return
		}
		o := w.inside(path, "create", w.real.W+"/marker2", "x")
		w.Check("a writer kept open", o.fault != nil && !there(w.real.W+"/marker2"), "%v", o)
		f.Close()
		o = w.inside(path, "create", w.real.W+"/marker2", "x")
		w.Check("without the writer", there(w.real.W+"/marker2"), "%v", o)
	})},
	{"AC-41", "secrets in the broker's environment", "only the explicit list", func(ctx ctxt, env Env, r *Report) {
		const name, value = "SEKISHO_MATRIX_API_TOKEN", "not-for-programs"
		os.Setenv(name, value)
		defer os.Unsetenv(name)
		in(development, func(w *world) {
			w.refused(probe{"env", words("env"), func(_ *layout, o output) bool { return contains(o.Detail, value) }, false})
			o := w.inside(w.real.Payload, "env")
			for line := range strings.SplitSeq(o.Detail, "\n") {
				key, _, _ := strings.Cut(line, "=")
				for _, bad := range []string{"TOKEN", "SECRET", "PASSWORD", "SSH_", "PROXY", "DBUS", "DISPLAY"} {
					if contains(strings.ToUpper(key), bad) || strings.HasPrefix(key, "LD_") {
						w.Fail("env", "%s reached the program", line)
					}
				}
			}
			w.Check("env", o.OK && contains(o.Detail, "PATH="), "%v", o)
		})(ctx, env, r)
	}},
}

// twinUnmount takes away what a control of root mounted in the twin.
func (w *world) twinUnmount() {
	for range 4 {
		if unix.Unmount(w.twin.W+"/d", unix.MNT_DETACH) != nil {
			return
		}
	}
}
