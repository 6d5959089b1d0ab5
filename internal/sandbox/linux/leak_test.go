//go:build linux && !cgo

package linux_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"sekisho/internal/fault"
	"sekisho/test/goroutines"
)

// proves A-SBX-02, A-TX-05
func TestTheServerKeepsNothing(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	open := func() map[string]int {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		kinds := map[string]int{}
		for _, e := range entries {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(to, "/proc/") {
				kind, _, _ := strings.Cut(to, ":")
				kinds[kind]++
			}
		}
		return kinds
	}
	backend := declare(t).backend // one for the server's life, as it keeps id mappings
	cycle := func() {
		f := declareWith(t, backend) // another backend's clock is open until it is collected
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
	// Fewer are fine: what an earlier test's backend kept goes when it is collected.
	for kind, n := range open() {
		if n > before[kind] {
			t.Errorf("%d descriptors of %s, %d before", n, kind, before[kind])
		}
	}
	if left := inits(t); len(left) > 0 {
		t.Errorf("sandboxes left: %v", left)
	}
	// The launcher stays, as long as the server.
	if left, kept := children(t, os.Getpid()), launchers(t); len(left) != len(kept) || len(kept) != 1 {
		t.Errorf("processes left: %v, of which launchers: %v", left, kept)
	}
	goroutines.None(t, leaks)
}
