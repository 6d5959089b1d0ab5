package matrix

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

type ctxt = context.Context

// victim is a probe aimed at the layout's victim; PID stands for its id and ADDRESS for where its secret is.
func victim(name string, effect func(l *layout, o output) bool, args ...string) probe {
	return probe{name: name, effect: effect, args: func(l *layout) []string {
		r := strings.NewReplacer("PID", fmt.Sprint(l.Victim), "ADDRESS", l.Address)
		out := make([]string, len(args))
		for i, a := range args {
			out[i] = r.Replace(a)
		}
		return out
	}}
}

func optional(p probe) probe {
	p.optional = true
	return p
}

// hostID is the id that the host knows the layout's victim by: PID 1 of the sandbox is the newest process that is
// number 1 in a namespace below ours.
func (w *world) hostID(l *layout) int {
	if l == w.twin {
		return l.Victim
	}
	newest := 0
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		for line := range strings.Lines(reads("/proc/" + e.Name() + "/status")) {
			ids, ok := strings.CutPrefix(line, "NSpid:")
			if f := strings.Fields(ids); ok && len(f) > 1 && f[len(f)-1] == "1" && below(pid, os.Getpid()) {
				newest = max(newest, pid)
			}
		}
	}
	return newest
}

func below(pid, ancestor int) bool {
	for range 8 {
		if pid == ancestor {
			return true
		}
		_, rest, _ := strings.Cut(reads(fmt.Sprintf("/proc/%d/stat", pid)), ") ")
		f := strings.Fields(rest)
		if len(f) < 2 {
			return false
		}
		pid, _ = strconv.Atoi(f[1])
	}
	return false
}

var attackInitCases = []Case{
	{"AC-34", "ptrace, process_vm_*, pidfd_getfd on PID 1", "EPERM", in(development, func(w *world) {
		if err := w.bystander(); err != nil {
			w.Block("a process of the host", "%v", err)
			return
		}
		read := func(_ *layout, o output) bool { return o.OK }
		w.refused(
			victim("process_vm_readv", read, "pvm-read", "PID", "ADDRESS", "16"),
			victim("process_vm_writev", read, "pvm-write", "PID", "ADDRESS", "16"),
			victim("ptrace attach", read, "ptrace-attach", "PID"),
			victim("ptrace seize", read, "ptrace-seize", "PID"),
			victim("pidfd_getfd", read, "pidfd-getfd", "PID", "1"),
			victim("its memory file", read, "read", "/proc/PID/environ"),
		)
	})},
	{"AC-53", "signals to PID 1 and to each of its threads, also by a descriptor's owner", "refused or without effect; the run goes on", in(development, func(w *world) {
		for _, sig := range []unix.Signal{unix.SIGQUIT, unix.SIGSEGV, unix.SIGSTOP, unix.SIGKILL, unix.SIGTERM, unix.SIGABRT} {
			for _, action := range []string{"tgkill", "tkill", "killtid", "kill", "tgsigqueue", "sigqueue"} {
				w.signal(action, sig)
			}
		}
		for _, action := range []string{"pidfd-signal", "proc-signal", "pidfd-thread"} {
			w.signal(action, unix.SIGKILL)
		}
		w.signal("sigio", unix.SIGQUIT)
		// To everything that may be reached, and to the own process group: the sandbox outlives both.
		for _, all := range []string{"-1", "0"} {
			o := w.inside(w.real.Payload, "kill", all, "9")
			w.alive("kill " + all)
			next := w.inside(w.real.Payload, "ids")
			w.Check("kill "+all, next.OK && (o.exit.Signal == "SIGKILL" || o.Errno == "ESRCH"), "the next run: %v, after %v", next, o)
		}
	})},
	{"AC-54", "limits, scheduling, priority, memory and comparison of PID 1", "EPERM", in(development, func(w *world) {
		if err := w.bystander(); err != nil {
			w.Block("a process of the host", "%v", err)
			return
		}
		file := func(name, text string) func(l *layout, o output) bool {
			return func(l *layout, _ output) bool {
				return contains(reads(fmt.Sprintf("/proc/%d/%s", w.hostID(l), name)), text)
			}
		}
		nice := func(l *layout, _ output) bool {
			_, rest, _ := strings.Cut(reads(fmt.Sprintf("/proc/%d/stat", w.hostID(l))), ") ")
			f := strings.Fields(rest)
			return len(f) > 16 && f[16] == "19"
		}
		io := func(l *layout, _ output) bool {
			class, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(w.hostID(l)), 0)
			return errno == 0 && class>>13 == 3
		}
		if w.hostID(w.real) == 0 {
			w.Block("PID 1", "it was not found on the host")
		}
		w.refused(
			victim("prlimit", file("limits", "Max open files            64                   64"), "prlimit", "PID"),
			victim("affinity", file("status", "Cpus_allowed_list:\t0\n"), "affinity", "PID"),
			victim("priority", nice, "priority", "0", "PID"),
			victim("io priority", io, "ioprio", "1", "PID"),
		)
		// A victim whose class and priority nothing has changed yet.
		if err := w.bystander(); err != nil {
			w.Block("a process of the host", "%v", err)
			return
		}
		idle := func(l *layout, _ output) bool {
			class, _, errno := unix.Syscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(w.hostID(l)), 0, 0)
			return errno == 0 && class == unix.SCHED_IDLE
		}
		w.refused(victim("scheduler", idle, "scheduler", "PID"))
		if err := w.bystander(); err != nil {
			w.Block("a process of the host", "%v", err)
			return
		}
		// Of a living process only EINVAL can come of taking its memory away: then the attempt got as far as that.
		far := func(_ *layout, o output) bool { return o.OK || o.Errno == "EINVAL" }
		w.refused(
			victim("scheduler attributes", idle, "sched-attr", "PID"),
			victim("scheduler parameters", reached, "sched-param", "PID"),
			victim("kcmp", reached, "kcmp", "PID"),
			victim("move_pages", reached, "move-pages", "PID"),
			victim("migrate_pages", reached, "migrate-pages", "PID"),
			optional(victim("process_madvise", reached, "process-madvise", "PID", "ADDRESS")), // root's alone
			victim("process_mrelease", far, "process-mrelease", "PID"),
			victim("its list of locks", reached, "set-robust-of", "PID"),
		)
		w.groups()
	})},
	{"AC-55", "core limit, which decides whether the host starts a core helper", "cannot be changed", in(development, func(w *world) {
		for _, value := range []string{"0"} {
			w.refused(probe{"to " + value, words("core-limit", value), func(_ *layout, o output) bool { return o.Detail == value+"/"+value }, false})
		}
		o := w.inside(w.real.Payload, "core-limit", "1")
		w.Check("its value", contains(o.text, "1/1"), "%v", o)
	})},
}

// groups tries the control groups of PID 1: there is no file system of them inside, and the host's path leads nowhere.
func (w *world) groups() {
	var dirs []string
	seen := map[string]bool{}
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(d.Name(), w.env.Instance) && !seen[path] {
			seen[path] = true
			dirs = append(dirs, path)
		}
		return nil
	})
	if len(dirs) == 0 {
		w.Block("control groups", "none of this task was found on the host")
		return
	}
	for _, dir := range dirs {
		for l, run := range map[*layout]func(string, ...string) output{w.twin: w.outside, w.real: w.inside} {
			o := run(l.Payload, "cgroup-write", dir)
			switch {
			case l == w.twin && !o.OK:
				w.Block("control group "+dir, "the control: %v", o)
			case l == w.real:
				w.Check("control group "+dir, !o.OK, "it was opened: %v", o)
			}
		}
	}
}

// signal sends one to the victim in some way: a fresh bystander must end or stop, PID 1 must do neither.
func (w *world) signal(action string, sig unix.Signal) {
	name := fmt.Sprintf("%s %v", action, sig)
	if err := w.bystander(); err != nil {
		w.Block(name, "%v", err)
		return
	}
	number := fmt.Sprint(int(sig))
	args := func(l *layout) []string {
		a := []string{action, fmt.Sprint(l.Victim), number}
		if !slices.Contains([]string{"kill", "sigio", "sigqueue", "pidfd-signal", "proc-signal"}, action) {
			a = append(a, "32")
		}
		return a
	}
	control := w.outside(w.twin.Payload, args(w.twin)...)
	stopped := func() bool {
		_, rest, _ := strings.Cut(reads(fmt.Sprintf("/proc/%d/stat", w.twin.Victim)), ") ")
		return rest == "" || strings.ContainsRune("ZXTt", rune(rest[0]))
	}
	if !await(w.ctx, patience, stopped) {
		w.Block(name, "the control had no effect: %v", control)
	}
	o := w.inside(w.real.Payload, args(w.real)...)
	w.alive(name)
	next := w.inside(w.real.Payload, "ids")
	w.Check(name, next.OK, "the next run: %v, after %v", next, o)
}
