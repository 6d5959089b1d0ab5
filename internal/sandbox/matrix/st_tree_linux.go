package matrix

import (
	"context"
	"os"
	"strings"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
)

func limits(memoryMB, processes int) change {
	return func(_ *world, p *policy.SandboxPolicy) error {
		p.Resources.MemoryMB, p.Resources.ProcessLimit = memoryMB, processes
		return nil
	}
}

var treeCases = []Case{
	{"ST-10", "a descendant starts an unapproved executable", "runs, in the same namespaces, domain and cgroup", in(development, sameConfinement)},
	{"ST-11", "end of the Job, breakaway, process, memory and time limit", "no breakaway; at a limit the whole tree stops", theTree},
}

func sameConfinement(w *world) {
	w.both(func(l *layout) error { return copyFile(l.Payload, l.W+"/unapproved") })
	self := w.inside(w.real.Payload, "confinement")
	child := w.inside("/bin/sh", "-c", w.real.W+"/unapproved confinement; true")
	host := w.outside(w.twin.Payload, "confinement")
	w.Check("namespaces, seccomp, cgroup of entry and descendant", self.OK && self.Detail == child.Detail, "entry %v, descendant %v", self, child)
	inside := map[string]bool{}
	for line := range strings.Lines(child.Detail) {
		inside[line] = true
	}
	shared := 0
	for line := range strings.Lines(host.Detail) {
		if inside[line] && strings.Contains(line, ":[") { // a namespace
			shared++
			w.Fail("apart from the host", "both have %q", strings.TrimSpace(line))
		}
	}
	w.Check("apart from the host", host.OK && shared == 0, "host: %v", host)
	w.refused(
		probe{"the descendant reads the secret", at("exec", "W/unapproved", "read", "S"), knows, false},
		probe{"the descendant writes a read-only root", at("exec", "W/unapproved", "write", "R/f", "new"), is("R/f", "new"), false},
	)
}

// daemon is a shell script that leaves a daemon behind: own session, forked twice, ignoring TERM.
func daemon(l *layout) string { return l.Payload + " daemonize " + l.W + "/beat 60 >/dev/null; " }

func theTree(ctx context.Context, env Env, r *Report) {
	in(development, func(w *world) {
		w.daemonsEnd()
		if control := w.outside("/bin/sh", "-c", "sleep 6; echo late"); !contains(control.text, "late") {
			w.Block("the time limit", "the control: %v", control)
		}
		w.closing()
	})(ctx, env, r)
	// One below the limit is fine, one more ends everything.
	in(development, func(w *world) {
		o := w.inside(w.real.Payload, "forkbomb", "3", "0")
		w.Check("as many processes as the limit", o.OK && o.Detail == "started 3", "%v", o)
		for _, bomb := range []string{"forkbomb", "forkbomb-silent"} {
			if control := w.outside(w.twin.Payload, bomb, "8", "1"); control.Detail != "started 8" {
				w.Block(bomb, "the control: %v", control)
			}
			o = w.inside("/bin/sh", "-c", "exec "+w.real.Payload+" "+bomb+" 8 50")
			w.Check(bomb, fault.CodeOf(o.fault) == fault.ResourceProcessLimit, "%v", o)
			o = w.inside(w.real.Payload, "ids")
			w.Check("a run after "+bomb, o.OK, "%v", o)
		}
		o = w.inside("/bin/sh", "-c", daemon(w.real)+w.real.Payload+" forkbomb 8 50")
		w.Check("the process limit ends the daemon as well", fault.CodeOf(o.fault) == fault.ResourceProcessLimit, "%v", o)
		w.dead("the process limit")
		o = w.inside(w.real.Payload, "threads", "40", "0")
		w.Check("threads are not processes", o.OK, "%v", o)
	}, limits(512, 4))(ctx, env, r)
	in(development, func(w *world) {
		for _, how := range memoryKinds {
			if control := w.outside(w.twin.Payload, how...); !control.OK {
				w.Block(how[0], "the control: %v", control)
			}
			if how[0] == "alloc-file" {
				os.Remove(how[2])
			}
			o := w.inside("/bin/sh", "-c", daemon(w.real)+w.real.Payload+" "+strings.Join(how, " ")+"; sleep 60")
			w.Check(how[0], fault.CodeOf(o.fault) == fault.ResourceMemoryLimit, "%v", o)
			w.dead("the memory limit by " + how[0])
		}
	}, limits(48, 16))(ctx, env, r)
}

// memoryKinds is every kind of memory that a program inside can fill: plain pages, a memory file, a file on tmpfs (which is
// what POSIX shared memory is, too), pipes, connected sockets, SysV shared memory and messages, and page tables.
var memoryKinds = [][]string{{"alloc", "160"}, {"alloc-memfd", "160"}, {"alloc-file", "60", "/dev/shm/sekisho-matrix"}, {"alloc-pipes", "64", "0"},
	{"alloc-sockets", "160", "0"}, {"alloc-sysv", "160", "0"}, {"alloc-messages", "64", "0"}, {"alloc-tables", "160", "0"}}

// daemonsEnd requires that a daemon is dead when its entry has ended, and when the time is over. The control: unconfined it outlives
// its starter.
func (w *world) daemonsEnd() {
	w.outside("/bin/sh", "-c", w.twin.Payload+" daemonize "+w.twin.W+"/beat 5 >/dev/null")
	if !grows(w.ctx, w.twin.W+"/beat") {
		w.Block("the daemon", "it does not outlive its starter on the host")
	}
	w.inside("/bin/sh", "-c", daemon(w.real))
	w.dead("the entry ends")
	c, err := w.command(w.real.W, "/bin/sh", "-c", daemon(w.real)+"sleep 60")
	if err != nil {
		w.Fail("the shell", "%v", err)
		return
	}
	c.Timeout = 5 * time.Second // the daemon is there before, also on a slow machine
	o := w.start(c)
	w.Check("the time limit", fault.CodeOf(o.fault) == fault.ResourceTimeLimit, "%v", o)
	w.dead("the time limit")
}

// dead requires that the daemon's heart stopped.
func (w *world) dead(when string) {
	w.Check(when+": the daemon", there(w.real.W+"/beat") && !grows(w.ctx, w.real.W+"/beat"), "it was never there, or it lives on")
	os.Remove(w.real.W + "/beat")
}

// closing ends the Job while a program and a daemon run in it.
func (w *world) closing() {
	c, err := w.command(w.real.W, "/bin/sh", "-c", daemon(w.real)+"sleep 60")
	if err != nil {
		w.Fail("the end of the Job", "%v", err)
		return
	}
	c.Stdout, c.Stderr = sink{}, sink{}
	var p sandbox.Process
	if p, err = w.job.Start(w.ctx, c); err != nil {
		w.Fail("the end of the Job", "%v", err)
		return
	}
	if !await(w.ctx, 10*time.Second, func() bool { return there(w.real.W + "/beat") }) {
		w.Fail("the end of the Job", "the daemon did not start")
	}
	w.shut()
	w.dead("the end of the Job")
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	if exit, err := p.Wait(ctx); err == nil {
		w.Fail("the end of the Job", "the run ended as if by itself: %+v", exit)
	}
}

type sink struct{}

func (sink) Write(p []byte) (int, error) { return len(p), nil }
