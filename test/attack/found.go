//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

var foundAttacks = []attack{
	{id: "53", play: func(w *world) {
		for _, sig := range []unix.Signal{unix.SIGQUIT, unix.SIGSEGV, unix.SIGSTOP, unix.SIGKILL} {
			for _, action := range []string{"tgkill", "tkill", "killtid", "kill", "tgsigqueue", "sigqueue"} {
				w.signal(action, sig)
			}
		}
		for _, action := range []string{"pidfd-signal", "proc-signal", "pidfd-thread"} {
			w.signal(action, unix.SIGKILL)
		}
		w.signal("sigio", unix.SIGQUIT)
		w.signal("sigio-group", unix.SIGKILL)
		for _, all := range []string{"-1", "0"} {
			before := w.initID()
			o := w.inside("kill", all, "9")
			next := w.inside("ids")
			w.check("kill "+all+": everybody, or the own group", next.OK && w.initID() == before, "PID 1 lives; the run: %v", o)
		}
	}},
	{id: "54", play: reachInit},
	{id: "55", play: func(w *world) {
		for _, value := range []string{"0", "18446744073709551615"} {
			w.refused(attempt{"core limit to " + value, []string{"core-limit", value}, func(_ *layout, o output) bool { return o.Detail == value+"/"+value }, "this user may only lower it"})
		}
		o := w.sh("grep 'core file' /proc/self/limits")
		w.check("the core limit", regexp.MustCompile(`core file size +1 +1 `).MatchString(o.Text), "%s: the kernel starts no helper for it", oneLine(o.Text, 120))
		o = w.sh("cd " + w.real.W + "; ulimit -c unlimited 2>&1; " + w.real.Payload + " crash >/dev/null 2>&1; kill -SEGV $$")
		names, _ := os.ReadDir(w.real.W)
		core := slices.ContainsFunc(names, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "core") })
		w.check("a crash", !core && strings.Contains(o.Text, "signal SIGSEGV"), "no core file; %v", o)
	}},
	{id: "56", set: settings{before: both(func(l *layout) error {
		return errors.Join(os.Mkdir(l.W+"/pipes", 0o755), unix.Mkfifo(l.W+"/pipes/p", 0o644), unix.Mkfifo(l.W+"/AGENTS.md", 0o644), os.Mkdir(l.W+"/.git", 0o755), unix.Mkfifo(l.W+"/.git/config", 0o644), write(l.W+"/pipes/f", "x"))
	})}, play: func(w *world) {
		opened := make(chan error, 1)
		go func() {
			f, err := os.Open(w.twin.W + "/pipes/p")
			if err == nil {
				f.Close()
			}
			opened <- err
		}()
		hangs := !w.await(300*time.Millisecond, func() bool { return len(opened) > 0 })
		if f, err := os.OpenFile(w.twin.W+"/pipes/p", os.O_RDWR, 0); err == nil {
			<-opened
			f.Close()
		}
		for _, c := range []struct {
			what, tool string
			args       map[string]any
		}{{"file_read of a FIFO", "file_read", whole("W/pipes/p")}, {"its metadata", "file_read", map[string]any{"path": "W/pipes/p", "mode": "metadata"}}, {"file_search beside it", "file_search", found("W/pipes")},
			{"tail of it", "file_search", map[string]any{"root": "W/pipes/p", "mode": "tail", "query": "", "tail_lines": 5}}, {"file_edit of it", "file_edit", overwrite("W/pipes/p")}} {
			begun := time.Now()
			r, err := w.v.call(w.ctx, c.tool, w.arguments(c.args))
			took := time.Since(begun)
			w.check(c.what+", also where the start of a task looks", hangs && err == nil && took < 5*time.Second, "%v %s after %d ms; an ordinary open hangs", r.OK, r.Code, took.Milliseconds())
		}
		begun := time.Now()
		o := w.inside("ids")
		w.check("a task starts in a workspace whose .git/config and AGENTS.md are FIFOs", time.Since(begun) < 10*time.Second, "%v", o)
	}},
	{id: "57", set: settings{before: both(repository)}, play: func(w *world) {
		w.refused(
			shell("the repository renamed away, another made", "mv .git .g2; mkdir -p .git/hooks; echo x >.git/hooks/post-commit", exists("W/.git/hooks/post-commit")),
			shell("a directory of the workspace", "mv sub s2; mkdir sub; echo x >sub/CLAUDE.md", func(l *layout, _ output) bool { return reads(l.W+"/sub/CLAUDE.md") != "old" }),
			shell("exchanged with another", "mkdir -p x/hooks; echo x >x/hooks/pre-commit; $TOOLS/payload exchange .git x", exists("W/.git/hooks/pre-commit")))
		w.succeeds(shell("work beside it", "echo new >sub/f; mkdir sub/d; echo x >.git/index; mv .git/index .git/index2", is("W/sub/f", "new\n")))
	}},
	{id: "58", set: settings{script: true}, play: swappedScript},
	{id: "59", play: func(w *world) {
		u, err := url.Parse(w.s.model.URL())
		if err != nil {
			w.row(failed, "the model's address", err.Error())
			return
		}
		for _, c := range []struct {
			what, network string
			good          bool
		}{
			{"another port", "{access: local, local_endpoints: [39990]}", true}, {"the model server's port", "{access: local, local_endpoints: [39990, " + u.Port() + "]}", false},
			{"the model server on IPv6", `{access: restricted, restricted_endpoints: [{host: "::1", ports: [` + u.Port() + "]}]}", false},
			{"another address of the loopback", "{access: restricted, restricted_endpoints: [{host: 127.99.0.1, ports: [" + u.Port() + "]}]}", false},
			{"localhost in capitals", "{access: restricted, restricted_endpoints: [{host: LocalHost., ports: [" + u.Port() + "]}]}", false},
		} {
			err := errors.Join(write(w.s.config, w.s.yaml(w.cgroup, settings{network: c.network})))
			aerr := w.s.apply(w.ctx)
			if aerr == nil {
				var v *server
				if v, aerr = w.s.serve(w.ctx); aerr == nil {
					v.close(w.ctx)
				}
			}
			w.check("an endpoint that is "+c.what, err == nil && (aerr == nil) == c.good && (c.good || strings.Contains(aerr.Error(), "configuration.invalid")), "%v", aerr)
		}
	}},
}

// signal sends one to the victim in some way: a fresh bystander must end or stop, PID 1 must do neither.
func (w *world) signal(action string, sig unix.Signal) {
	w.bystander()
	args := []string{action, "VICTIM", fmt.Sprint(int(sig))}
	if !slices.Contains([]string{"kill", "sigio", "sigio-group", "sigqueue", "pidfd-signal", "proc-signal"}, action) {
		args = append(args, "32")
	}
	state := func(pid int) string {
		_, rest, _ := strings.Cut(reads(fmt.Sprintf("/proc/%d/stat", pid)), ") ")
		return rest
	}
	hit := func(pid int) bool { s := state(pid); return s == "" || strings.ContainsRune("ZXTt", rune(s[0])) }
	control := w.outside(args...)
	var bystander int
	fmt.Sscan(w.twin.Victim, &bystander)
	works := w.await(5*time.Second, func() bool { return hit(bystander) })
	if w.initID() == 0 {
		w.inside("ids") // a sandbox
	}
	first := w.initID()
	o := w.inside(args...)
	next := w.inside("ids")
	w.check(fmt.Sprintf("%v to PID 1 by %s", sig, action), works && first > 0 && !hit(first) && w.initID() == first && next.OK, "%v; PID 1 goes on: %v, the next run: %v; the control ended or stopped (%v): %v", o, first > 0 && w.initID() == first, next, control, works)
}

// reachInit tries limits, scheduling, priority, memory and comparison of PID 1.
func reachInit(w *world) {
	w.inside("ids")
	id := func(l *layout) int {
		n := w.initID()
		if l == w.twin {
			fmt.Sscan(l.Victim, &n)
		}
		return n
	}
	file := func(name, text string) effect {
		return func(l *layout, _ output) bool {
			return strings.Contains(reads(fmt.Sprintf("/proc/%d/%s", id(l), name)), text)
		}
	}
	nice := func(l *layout, _ output) bool {
		_, rest, _ := strings.Cut(reads(fmt.Sprintf("/proc/%d/stat", id(l))), ") ")
		f := strings.Fields(rest)
		return len(f) > 16 && f[16] == "19"
	}
	io := func(l *layout, _ output) bool {
		class, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(id(l)), 0)
		return errno == 0 && class>>13 == 3
	}
	idle := func(l *layout, _ output) bool {
		class, _, errno := unix.Syscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(id(l)), 0, 0)
		return errno == 0 && class == unix.SCHED_IDLE
	}
	w.bystander()
	w.refused(attempt{"prlimit", []string{"prlimit", "VICTIM"}, file("limits", "Max open files            64                   64"), ""},
		attempt{"sched_setaffinity", []string{"affinity", "VICTIM"}, file("status", "Cpus_allowed_list:\t0\n"), ""},
		attempt{"setpriority", []string{"priority", "0", "VICTIM"}, nice, ""}, attempt{"ioprio_set", []string{"ioprio", "1", "VICTIM"}, io, ""})
	w.bystander() // whose class nothing has changed yet
	w.refused(attempt{"sched_setscheduler", []string{"scheduler", "VICTIM"}, idle, ""})
	w.bystander()
	far := func(_ *layout, o output) bool { return o.OK || o.Errno == "EINVAL" }
	root := ""
	if os.Geteuid() != 0 {
		root = "only root could"
	}
	w.refused(attempt{"sched_setattr", []string{"sched-attr", "VICTIM"}, idle, ""}, attempt{"sched_setparam", []string{"sched-param", "VICTIM"}, reached, ""},
		attempt{"kcmp", []string{"kcmp", "VICTIM"}, reached, ""}, attempt{"move_pages", []string{"move-pages", "VICTIM"}, reached, ""}, attempt{"migrate_pages", []string{"migrate-pages", "VICTIM"}, reached, ""},
		attempt{"process_madvise", []string{"process-madvise", "VICTIM", "ADDRESS"}, reached, root}, attempt{"process_mrelease", []string{"process-mrelease", "VICTIM"}, far, ""},
		attempt{"get_robust_list", []string{"set-robust-of", "VICTIM"}, reached, ""})
	// Its control groups: no file system of them is inside, and the host's path leads nowhere.
	pid := id(w.real)
	for line := range strings.Lines(reads(fmt.Sprintf("/proc/%d/cgroup", pid))) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || f[1] != "memory" && f[1] != "pids" && (f[1] != "" || there("/sys/fs/cgroup/memory")) {
			continue
		}
		dir := "/sys/fs/cgroup/" + strings.TrimPrefix(f[1]+f[2], "/")
		if !there(dir) {
			continue
		}
		w.refused(attempt{"its control group " + f[1], []string{"cgroup-write", dir}, reached, ""})
	}
}

// swappedScript changes an approved script between its approval, the stop before its first instruction, and the interpreter's reading.
func swappedScript(w *world) {
	path := w.real.Dir + "/approved/script"
	good := reads(path)
	bad := strings.ReplaceAll(good, "good", "evil")
	evil := func() bool { return there(w.real.W + "/evil") }
	o := w.run("script")
	w.check("the approved script", there(w.real.W+"/good"), "runs: %s", oneLine(o.Text, 60))
	if err := errors.Join(write(path+".evil", bad), os.Chmod(path+".evil", 0o755), write(w.twin.Dir+"/approved/script.evil", bad), os.Chmod(w.twin.Dir+"/approved/script.evil", 0o755)); err != nil {
		w.row(failed, "the fixture", err.Error())
		return
	}
	// The control: whoever compares the bytes and then starts the path.
	stop := w.swapping(w.twin.Dir+"/approved/script", w.twin.Dir+"/approved/script.evil")
	tries, control := 0, false
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && !control; tries++ {
		if strings.Contains(reads(w.twin.Dir+"/approved/script"), "good") {
			w.outside("exec", w.twin.Dir+"/approved/script")
			control = there(w.twin.W + "/evil")
		}
	}
	stop()
	stop = w.swapping(path, path+".evil")
	told, wrong, starts := map[string]int{}, 0, 0
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); starts++ {
		os.Remove(w.real.W + "/evil")
		o := w.run("script")
		if o.Code == "" && evil() {
			wrong++ // reported as done
		}
		told[o.Code]++
	}
	n := stop()
	w.check(fmt.Sprintf("an approved script and another change places (%d times) while it is started", n), control && wrong == 0 && starts > 5, "%d starts: %v; never another one's run told as done; the careless control ran it after %d tries", starts, told, tries)
}
