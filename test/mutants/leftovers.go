//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What a killer leaves behind because the guard was gone (a PID 1 that goes on, a control group that nobody removes) must not
// reach the next one. Each test program runs below a process of its own, this program with the word alone: whatever loses its
// parent becomes that one's child, however many sessions and namespaces it went through, and is ended when the test is over.

// alone is the first argument of that process; the others are what it runs.
const alone = "alone"

// moment is how long what a test left may take to end by itself.
const moment = time.Second

// leftLine begins the line that tells of one process that had to be ended.
const leftLine = "mutants: left behind and ended: "

// keep runs a program to its end and returns its exit code, after everything that it left has ended. SIGTERM ends the
// program's process group.
func keep(argv []string) (code int, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1, err
	}
	late := make(chan os.Signal, 1)
	signal.Notify(late, syscall.SIGTERM)
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		return 1, err
	}
	go func() {
		<-late
		syscall.Kill(-p.Pid, syscall.SIGKILL)
	}()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil) // as the init of a machine would, for tests look whether orphans are gone
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 1, err
		case pid == p.Pid:
			code = status.ExitStatus() // -1 when a signal ended it
			if code < 0 {
				code = 1
			}
			return code, sweep()
		}
	}
}

// sweep ends this process's children, and theirs, until there are none, and names on standard error those that did not end by
// themselves within a moment.
func sweep() error {
	told := map[int]bool{}
	for begun := time.Now(); time.Since(begun) < 20*moment; time.Sleep(10 * time.Millisecond) {
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if err == unix.ECHILD {
				return nil
			}
			if err != unix.EINTR && pid <= 0 {
				break
			}
		}
		if time.Since(begun) < moment {
			continue
		}
		pids, err := children()
		if err != nil {
			return err
		}
		for _, pid := range pids {
			if !told[pid] {
				told[pid] = true
				name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
				fmt.Fprintf(os.Stderr, "\n%s%d %s\n", leftLine, pid, strings.TrimSpace(string(name)))
			}
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("processes that cannot be ended: %v", told)
}

// children lists the processes whose parent is this one.
func children() (pids []int, err error) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range names {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		rest := stat[strings.LastIndexByte(string(stat), ')')+1:]
		if f := strings.Fields(string(rest)); len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// groups lists the control groups of tests and of sandboxes that are on this machine.
func groups() map[string]bool {
	all := map[string]bool{}
	for _, kind := range []string{"cgroup", "cgroup2"} {
		out, err := exec.Command("findmnt", "-rno", "TARGET", "-t", kind).Output()
		if err != nil {
			continue // none of this kind
		}
		for mount := range strings.FieldsSeq(string(out)) {
			filepath.WalkDir(mount, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() && (strings.HasPrefix(d.Name(), "agent-mcp-") || strings.HasPrefix(d.Name(), "sekisho-given-")) {
					all[path] = true
				}
				return nil // one that is gone meanwhile
			})
		}
	}
	return all
}

// clear removes the control groups that were not there before a test and in which nothing runs, and returns their names. What a
// test that runs somewhere else has made holds its processes a moment later.
func clear(before map[string]bool) (removed []string) {
	left := func() (fresh []string) {
		for dir := range groups() {
			if !before[dir] {
				fresh = append(fresh, dir)
			}
		}
		return fresh
	}
	fresh := left()
	if len(fresh) == 0 {
		return nil
	}
	time.Sleep(moment)
	slices.Sort(fresh)
	for _, dir := range slices.Backward(fresh) { // what is inside first
		if syscall.Rmdir(dir) == nil {
			removed = append(removed, dir)
		}
	}
	return removed
}

// leftovers takes what was said of what a test left out of its output.
func leftovers(out string) (rest string, left []string) {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if what, ok := strings.CutPrefix(line, leftLine); ok {
			left = append(left, "process "+strings.TrimSpace(what))
		} else {
			b.WriteString(line)
		}
	}
	return b.String(), left
}
