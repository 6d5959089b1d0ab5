//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const secretName, secretValue = "SEKISHO_ATTACK_API_TOKEN", "not-for-programs-71b2"

var processAttacks = []attack{
	{id: "27", set: settings{inherits: "/var/tmp", env: []string{"SHELL=/bin/false"}}, play: func(w *world) {
		// The server inherited a directory as its descriptor 3, as from a careless client.
		f, err := os.Open("/var/tmp")
		if err != nil {
			w.row(failed, "the fixture", err.Error())
			return
		}
		defer f.Close()
		for what, args := range map[string][]string{"list descriptors": {"fds"}, "walk up from a descriptor": {"list", "/proc/self/fd/3/.."}} {
			cmd := exec.CommandContext(w.ctx, w.twin.Payload, args...)
			cmd.ExtraFiles = []*os.File{f}
			out, _ := cmd.CombinedOutput()
			leaked := func(text string) bool { return strings.Contains(text, "=/var/tmp") || strings.Contains(text, "spool") }
			o := w.inside(args...)
			w.check(what, leaked(string(out)) && o.made() && !leaked(o.Text), "%v; the control with the same descriptor: %s", o, oneLine(string(out), 120))
		}
		o := w.inside("fds")
		w.check("how many descriptors", o.OK && len(strings.Fields(o.Detail)) == 3, "%s", o.Detail)
	}},
	{id: "28", play: func(w *world) {
		changed := func(l *layout, _ output) bool { return strings.HasSuffix(reads(l.Payload), "changed\n") }
		// A program that has ended by then may be written; the descriptor on it is the way.
		w.refused(shell("reopen an executable for writing through a descriptor", "exec 9<$TOOLS/payload2; echo changed >>/proc/self/fd/9", func(l *layout, _ output) bool { return strings.HasSuffix(reads(l.Tools+"/payload2"), "changed\n") }))
		far := func(l *layout, o output) bool { return changed(l, o) || o.Errno == "ETXTBSY" }
		w.bystander()
		w.refused(attempt{"open the program of PID 1 for writing", []string{"append", "/proc/VICTIM/exe", "changed\n"}, far, ""})
		o := w.inside("append", "/proc/self/exe", "changed\n")
		w.check("open the own program for writing", !changed(w.real, o) && o.made() && !o.OK, "%v", o)
	}, set: settings{before: both(func(l *layout) error { return copyFile(l.Payload, l.Tools+"/payload2") })}},
	{id: "29", play: func(w *world) {
		w.bystander()
		w.refused(attempt{"/proc/self/root", []string{"read", "/proc/self/root/S"}, knows, ""},
			attempt{"/proc/1/root", []string{"read", "/proc/VICTIM/root/S"}, knows, ""},
			attempt{"/proc/1/cwd", []string{"read", "/proc/VICTIM/cwd/../outside/secret"}, knows, ""},
			attempt{"/proc/self/cwd", []string{"read", "/proc/self/cwd/../outside/secret"}, knows, ""},
			attempt{"/proc/1/environ", []string{"read", "/proc/VICTIM/environ"}, reached, ""},
			attempt{"/proc/1/mem", []string{"read", "/proc/VICTIM/maps"}, reached, ""})
	}},
	{id: "30", play: func(w *world) {
		user, net := fmt.Sprint(unix.CLONE_NEWUSER), fmt.Sprint(unix.CLONE_NEWUSER|unix.CLONE_NEWNET)
		for _, action := range []string{"unshare", "clone", "clone3"} {
			w.refused(attempt{action + " of a user namespace", []string{action, user}, reached, ""}, attempt{action + " of user and network namespace", []string{action, net}, reached, ""})
		}
		root := ""
		if os.Geteuid() != 0 {
			root = "only root could"
		}
		w.refused(attempt{"setns", []string{"setns", "/proc/self/ns/uts"}, reached, root}, attempt{"chroot", []string{"chroot", "W"}, reached, root})
		w.refused(shell("bubblewrap's way: unshare(1)", "unshare -Ur true", reached))
	}},
	{id: "31", play: func(w *world) {
		w.refused(attempt{"getpid by the x32 numbers", []string{"x32", fmt.Sprint(unix.SYS_GETPID)}, reached, "this kernel has no x32"},
			attempt{"getpid by int 0x80, the 32-bit entry", []string{"int80", "20"}, reached, "this kernel has no 32-bit entry"})
		// A number that no table knows, and one with other upper bits than the kernel reads.
		enosys := func(_ *layout, o output) bool { return o.Errno == "ENOSYS" }
		o := w.inside("syscall", "1000000")
		w.check("a number that no table knows", enosys(w.real, o), "%v", o)
		o = w.inside("syscall", fmt.Sprint(unix.SYS_UNSHARE|1<<32), fmt.Sprint(unix.CLONE_NEWUSER))
		w.check("unshare with an upper half in its number", !o.OK && o.Errno == "EPERM", "%v", o)
	}},
	{id: "32", play: func(w *world) {
		// Unconfined the request gets as far as the descriptor, which is no terminal.
		far := func(_ *layout, o output) bool {
			return o.OK || o.Errno == "ENOTTY" || o.Errno == "EIO" || o.Errno == "EINVAL"
		}
		for _, request := range []uint64{unix.TIOCSTI, unix.TIOCSTI | 1<<32, unix.TIOCLINUX, unix.TIOCLINUX | 0xffffffff00000000, unix.TIOCSETD, unix.TIOCCONS} {
			w.refused(attempt{fmt.Sprintf("ioctl %#x", request), []string{"ioctl", "0", fmt.Sprintf("%#x", request)}, far, ""})
		}
		// The session, its terminal, and the payload, which leads a session only if it was given one.
		w.refused(shell("stay in the session of whoever starts programs", "echo $(cut -d' ' -f6,7 /proc/self/stat) $PPID", func(_ *layout, o output) bool {
			var session, terminal, payload int
			n, _ := fmt.Sscan(o.Detail, &session, &terminal, &payload)
			return n < 3 || session != payload || terminal != 0
		}))
	}},
	{id: "33", play: func(w *world) {
		root := ""
		if os.Geteuid() != 0 {
			root = "this user may not, unconfined, either"
		}
		w.refused(attempt{"io_uring_setup", []string{"io-uring"}, reached, ""}, attempt{"userfaultfd", []string{"userfaultfd"}, reached, root},
			attempt{"perf_event_open", []string{"perf"}, reached, "this kernel or this user has none"}, attempt{"the user's keyring", []string{"keyctl"}, reached, ""})
	}},
	{id: "34", play: func(w *world) {
		w.bystander()
		w.refused(attempt{"process_vm_readv", []string{"pvm-read", "VICTIM", "ADDRESS", "16"}, reached, ""}, attempt{"process_vm_writev", []string{"pvm-write", "VICTIM", "ADDRESS", "16"}, reached, ""},
			attempt{"ptrace attach", []string{"ptrace-attach", "VICTIM"}, reached, ""}, attempt{"ptrace seize", []string{"ptrace-seize", "VICTIM"}, reached, ""},
			attempt{"pidfd_getfd", []string{"pidfd-getfd", "VICTIM", "1"}, reached, ""})
	}},
	{id: "35", play: daemons},
	{id: "36", set: settings{before: both(func(l *layout) error {
		return write(l.W+"/bomb", fmt.Sprintf("echo $$ >>%s/pids; [ $1 -lt 5 ] && { sh %s/bomb $(($1+1)) & sh %s/bomb $(($1+1)) & }; exec sleep 3", l.W, l.W, l.W))
	})}, play: func(w *world) {
		// Bounded by its depth: 63 processes, of which the sandbox allows 16.
		w.outside("exec", "/bin/sh", w.twin.W+"/bomb", "0")
		control := strings.Count(reads(w.twin.W+"/pids"), "\n")
		o := w.run("sh", w.real.W+"/bomb", "0")
		before := reads(w.real.W + "/pids")
		still := !w.await(500*time.Millisecond, func() bool { return reads(w.real.W+"/pids") != before })
		w.check("a fork bomb", control > 40 && o.Code == "resource.process_limit" && still && len(w.tree()) <= 1, "%s, and the host has %d processes of the tree left; the control started %d", o.Code, max(0, len(w.tree())-1), control)
		next := w.inside("ids")
		w.check("the next run after it", next.OK, "%v", next)
	}},
	{id: "39", set: settings{approved: true}, play: changedEntry},
	{id: "41", set: settings{env: []string{secretName + "=" + secretValue, "SSH_AUTH_SOCK=/tmp/agent", "DBUS_SESSION_BUS_ADDRESS=unix:path=/x", "HTTPS_PROXY=http://u:p@h"}}, play: func(w *world) {
		os.Setenv(secretName, secretValue)
		defer os.Unsetenv(secretName)
		w.bystander()
		has := func(_ *layout, o output) bool { return strings.Contains(o.Text, secretValue) }
		w.refused(attempt{"the server's variables in the own environment", []string{"env"}, has, ""}, attempt{"in that of PID 1", []string{"read", "/proc/VICTIM/environ"}, has, ""})
		o := w.inside("env")
		bad := ""
		for line := range strings.SplitSeq(o.Detail, "\n") {
			key, _, _ := strings.Cut(line, "=")
			for _, word := range []string{"TOKEN", "SECRET", "PASSWORD", "SSH_", "PROXY", "DBUS", "DISPLAY", "XDG_", "LD_PRELOAD", "LD_LIBRARY"} {
				if strings.Contains(strings.ToUpper(key), word) {
					bad += " " + key
				}
			}
		}
		w.check("the whole environment", o.OK && bad == "" && strings.Contains(o.Detail, "PATH="), "%s", oneLine(o.Detail, 300)+bad)
	}},
}

// bystander starts a process on the host that keeps the twin's secret in memory: the twin's victim, as PID 1 is the real one's.
func (w *world) bystander() {
	cmd := exec.CommandContext(w.ctx, w.twin.Payload, "secret", w.twin.Secret, "100")
	cmd.Dir = w.twin.W
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.row(failed, "a process of the host", err.Error())
		return
	}
	w.closers = append(w.closers, func() { cmd.Process.Kill(); cmd.Wait() })
	line := make([]byte, 256)
	n, _ := out.Read(line)
	if _, err := fmt.Sscanf(string(line[:n]), `{"pid":%d,"address":%s`, new(int), new(string)); err != nil {
		w.row(failed, "a process of the host", string(line[:n]))
		return
	}
	_, address, _ := strings.Cut(string(line[:n]), `"address":`)
	w.twin.Victim, w.twin.Address = strconv.Itoa(cmd.Process.Pid), strings.Trim(address, "}\n")
	w.real.Victim, w.real.Address = "1", w.twin.Address
}

// tree lists the host's ids of the sandbox's processes, PID 1 first.
func (w *world) tree() []int {
	var all []int
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range names {
		var ids []string
		for line := range strings.Lines(reads(dir + "/status")) {
			if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
				ids = strings.Fields(rest)
			}
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if len(ids) < 2 || !w.ours(pid) {
			continue
		}
		if ids[len(ids)-1] == "1" {
			all = append([]int{pid}, all...)
		} else {
			all = append(all, pid)
		}
	}
	return all
}

// ours tells whether a process descends from the server.
func (w *world) ours(pid int) bool {
	for range 64 {
		if pid == w.v.cmd.Process.Pid {
			return true
		}
		_, rest, _ := strings.Cut(reads(fmt.Sprintf("/proc/%d/stat", pid)), ") ")
		f := strings.Fields(rest)
		if len(f) < 2 || f[1] == "0" || f[1] == "1" {
			return false
		}
		pid, _ = strconv.Atoi(f[1])
	}
	return false
}

// initID is the host's id of the sandbox's PID 1; 0 when there is none.
func (w *world) initID() int {
	if t := w.tree(); len(t) > 0 {
		return t[0]
	}
	return 0
}

func daemon(l *layout) string { return l.Payload + " daemonize " + l.W + "/beat 20 >/dev/null; " }

// daemons: own session, forked twice, ignoring TERM.
func daemons(w *world) {
	w.outside("exec", "/bin/sh", "-c", w.twin.Payload+" daemonize "+w.twin.W+"/beat 5 >/dev/null")
	control := w.grows(w.twin.W + "/beat")
	dead := func(what string, o output) {
		began := there(w.real.W + "/beat")
		w.check("a daemon, when "+what, control && began && !w.grows(w.real.W+"/beat"), "it is dead (the run: %v); on the host it lives on", o)
		os.Remove(w.real.W + "/beat")
	}
	dead("its starter ends", w.sh(daemon(w.real)))
	r, err := w.v.call(w.ctx, "process_run", map[string]any{"executable": "sh", "args": []string{"-c", daemon(w.real) + "sleep 50"}, "cwd": w.real.W, "stdin": nil, "timeout_seconds": 2})
	if err != nil || r.Code != "resource.time_limit" {
		w.row(failed, "the time limit", fmt.Sprint(r.Code, err))
	}
	dead("the time is over", output{Code: r.Code})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// The call has no answer: its server is killed.
		w.v.call(w.ctx, "process_run", map[string]any{"executable": "sh", "args": []string{"-c", daemon(w.real) + "sleep 50"}, "cwd": w.real.W, "stdin": nil, "timeout_seconds": 50})
	}()
	alive := w.await(20*time.Second, func() bool { return there(w.real.W+"/beat") && w.grows(w.real.W+"/beat") })
	tree := w.tree()
	w.v.cmd.Process.Kill()
	<-ended
	w.v.session.Close()
	left := func() (n int) {
		for _, pid := range tree {
			_, rest, _ := strings.Cut(reads(fmt.Sprintf("/proc/%d/stat", pid)), ") ")
			if rest != "" && rest[0] != 'Z' && rest[0] != 'X' {
				n++
			}
		}
		return n
	}
	w.await(5*time.Second, func() bool { return left() == 0 })
	w.check("a daemon, when the server is killed", alive && len(tree) > 1 && left() == 0 && !w.grows(w.real.W+"/beat"), "%d of %d processes are left", left(), len(tree))
	os.Remove(w.real.W + "/beat")
	if w.v, err = w.s.serve(w.ctx); err != nil {
		w.row(failed, "the next start after the kill", err.Error())
		return
	}
	o := w.inside("ids")
	groups, _ := exec.Command("sh", "-c", "cat /proc/[0-9]*/cgroup 2>/dev/null | grep -c agent-mcp-").Output()
	w.check("the next start after the kill", o.OK, "%v (%s lines of groups with processes)", o, strings.TrimSpace(string(groups)))
}

// changedEntry changes what was approved, in the three ways that there are.
func changedEntry(w *world) {
	path := w.real.Dir + "/approved/prog"
	good := reads(path)
	ran := func(marker string) bool { return there(w.real.W + "/" + marker) }
	o := w.run("prog", "create", w.real.W+"/m0", "x")
	w.check("the approved program", ran("m0"), "runs: %v", o)
	hashes := func(r output) bool {
		return strings.HasPrefix(r.Code, "executable.") || r.Code == "sandbox.resolution_changed"
	}
	err := os.WriteFile(path, []byte(good+"\x01"), 0o755)
	o = w.run("prog", "create", w.real.W+"/m2", "x")
	w.check("its bytes edited in place", err == nil && !ran("m2") && hashes(o), "%v", o)
	restore := func(marker string) {
		err := os.WriteFile(path, []byte(good), 0o755)
		o := w.run("prog", "create", w.real.W+"/"+marker, "x")
		w.check("the approved bytes put back", err == nil && ran(marker), "it runs: %v", o)
	}
	restore("m7")
	// Same size, and both times put back.
	var st unix.Stat_t
	unix.Stat(path, &st)
	spoiled := []byte(good)
	spoiled[len(spoiled)-1] ^= 1
	err = errors.Join(os.WriteFile(path, spoiled, 0o755), unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{st.Atim, st.Mtim}, 0))
	o = w.run("prog", "create", w.real.W+"/m3", "x")
	w.check("one byte changed, size and time of change as before", err == nil && !ran("m3") && hashes(o), "%v", o)
	restore("m8")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		w.row(failed, "a writer", err.Error())
		return
	}
	o = w.run("prog", "create", w.real.W+"/m4", "x")
	w.check("a writer kept open", !ran("m4") && o.Code != "", "%v", o)
	m, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	f.Close()
	o = w.run("prog", "create", w.real.W+"/m5", "x")
	w.check("a shared writable mapping kept", err == nil && (!ran("m5") || string(m[:4]) == "\x7fELF"), "%v", o)
	if err == nil {
		unix.Munmap(m)
	}
	o = w.run("prog", "create", w.real.W+"/m6", "x")
	w.check("the approved bytes again", ran("m6"), "run: %v", o)
	err = errors.Join(os.WriteFile(path+"2", []byte(good+"\x00"), 0o755), os.Rename(path+"2", path))
	o = w.run("prog", "create", w.real.W+"/m1", "x")
	w.check("another file moved over its path", err == nil && !ran("m1") && hashes(o), "%v", o)
}
