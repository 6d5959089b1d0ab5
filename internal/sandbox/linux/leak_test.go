//go:build linux && !cgo

package linux_test

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"sekisho/internal/fault"
)

// proves A-SBX-02, A-TX-05
func TestTheServerKeepsNothing(t *testing.T) {
	goroutines := goleak.IgnoreCurrent()
	open := func() []string {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		var names []string
		for _, e := range entries {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(to, "/proc/") {
				kind, _, _ := strings.Cut(to, ":")
				names = append(names, kind)
			}
		}
		slices.Sort(names)
		return names
	}
	backend := declare(t).backend // one for the server's life, as it keeps id mappings
	cycle := func() {
		f := declare(t)
		f.backend = backend
		f.open()
		f.sh("echo hello").ok(t)
		f.run(f.command("/bin/sh", "-c", "exit 1"))
		bad := f.command("/bin/true")
		bad.SHA256 = strings.Repeat("0", 64)
		f.run(bad).coded(t, fault.ExecutableHashChanged)
		lost := f.job.Lost()
		must(t, syscall.Kill(inits(t)[0], syscall.SIGKILL))
		<-lost
		f.sh("echo again").ok(t)
		f.close()
		f.undos = nil
	}
	cycle() // what is made once and kept: the poller, and as root the id mapping
	before := open()
	for range 4 {
		cycle()
	}
	if after := open(); !slices.Equal(before, after) {
		t.Errorf("open before: %v\nafter: %v", before, after)
	}
	if left := children(t, os.Getpid()); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	goleak.VerifyNone(t, goroutines)
}
