package agentsite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// TB is what the waits here use of testing.TB.
type TB interface {
	Helper()
	Fatalf(string, ...any)
}

// Poll calls done until it is true: what another process does can often be seen only.
func Poll(t TB, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s did not happen within %v", what, patience)
		}
	}
}

// Sleeping counts the processes sleep MARK, as the machine sees them.
func Sleeping(mark string) (n int) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil { // the pattern is well-formed
		panic(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && string(text) == "sleep\x00"+mark+"\x00" {
			n++
		}
	}
	return n
}

// Processes counts those whose program is at path.
func Processes(path string) (n int) {
	files, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		if at, err := os.Readlink(f); err == nil && at == path {
			n++
		}
	}
	return n
}

// Named lists those but this one that are in a control group of that name, or have a mount of it: name is in their names.
func Named(name string) (pids []string, err error) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if strings.Trim(e.Name(), "0123456789") != "" || e.Name() == fmt.Sprint(os.Getpid()) {
			continue
		}
		groups, _ := os.ReadFile("/proc/" + e.Name() + "/cgroup") // a process that has ended has none
		mounts, _ := os.ReadFile("/proc/" + e.Name() + "/mountinfo")
		if (strings.Contains(string(groups), name) || strings.Contains(string(mounts), name)) && !ended(e.Name()) {
			pids = append(pids, e.Name())
		}
	}
	return pids, nil
}

// ended tells whether every thread of a process is a zombie: it holds nothing but its number, though until its parent asks for the
// exit code it still names its control group of version 2.
func ended(pid string) bool {
	threads, err := filepath.Glob("/proc/" + pid + "/task/[0-9]*/stat")
	if err != nil {
		panic(err)
	}
	for _, f := range threads {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // gone
		}
		_, state, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
		if !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X") {
			return false
		}
	}
	return true
}
