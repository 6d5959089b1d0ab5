//go:build linux && !cgo

package linux_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox/linux/cgroup"
)

// What the server counts itself, because no limit of the kernel does, and what that costs it.

// proves A-SBX-02
//
// Bursts that end long before anybody would look twice: processes that neither ask nor speak. Any single one can pass unseen, the
// more so the busier the machine, so none is demanded: a tree that goes on with them is ended before a thousand have passed.
// Only what is not counted at all comes to the end of them.
func TestShortExcessesAreSeen(t *testing.T) {
	f, try := armed(t) // 4 processes, this one included
	if a := try("burst", "3", "40", "500"); !a.OK || a.Detail != "at once 3" {
		t.Errorf("within the limit: %+v", a)
	}
	const many = "1000"
	most := strconv.Itoa(cgroup.Tasks(4) - 16)
	for range 3 {
		f.run(f.command(f.W+"/payload", "burst", "40", many, "2000")).coded(t, fault.ResourceProcessLimit)
		f.run(f.command(f.W+"/payload", "burst", most, many, "0")).coded(t, fault.ResourceProcessLimit)
		// Past the ceiling of tasks there is no excess to see, but a fork that failed.
		f.run(f.command(f.W+"/payload", "burst", "900", "1", "0")).coded(t, fault.ResourceProcessLimit)
		notLost(t, f)
	}
	if a := unconfined(t, f.W, payload(t), "burst", "40", "3", "0").answer(t); !a.OK || a.Detail != "at once 40" {
		t.Errorf("control: %+v", a)
	}
}

// proves A-SBX-02
//
// The kernel charges file locks to nobody: without a count, 100 MB of them are gone from the host in seconds.
func TestFileLocksAreBounded(t *testing.T) {
	f, try := armed(t)
	posix, ofd := strconv.Itoa(unix.F_SETLK), strconv.Itoa(unix.F_OFD_SETLK)
	if a := try("locks", f.W, "2000", posix, "1"); !a.OK {
		t.Errorf("as many as a database holds: %+v", a)
	}
	f.run(f.command(f.W+"/payload", "locks", f.W, "40000", posix, "60")).coded(t, fault.ResourceMemoryLimit)
	notLost(t, f)
	// Held by several processes, each of which keeps within the bound.
	f.sh(`for i in 1 2 3; do ./payload locks . 15000 `+posix+` 60 & done; wait`).coded(t, fault.ResourceMemoryLimit)
	notLost(t, f)
	// Those that could not be counted.
	if a := try("locks", f.W, "1", ofd, "0"); a.OK || a.Errno != "EINVAL" {
		t.Errorf("a lock of an open file: %+v", a)
	}
	if a := try("share-files"); a.OK || a.Errno != "EPERM" {
		t.Errorf("a table of descriptors for two processes: %+v", a)
	}
	for _, args := range [][]string{{"locks", f.W, "40000", posix, "0"}, {"locks", f.W, "1", ofd, "0"}, {"share-files"}} {
		if a := unconfined(t, f.W, payload(t), args...).answer(t); !a.OK {
			t.Errorf("control: %s: %+v", args, a)
		}
	}
}

// proves A-SBX-09
//
// A payload that does nothing but notify the server is held to what costs it a quarter of a processor (the rest of that is
// filter.TestPace): in each 10 ms at most 250 notifications are answered, of 10 µs or more each. A busy machine answers fewer.
func TestNotificationsDoNotOccupyTheServer(t *testing.T) {
	f, _ := armed(t)
	begun := time.Now()
	out := f.sh("./payload spam-word 2 >one & ./payload spam-word 2 >two & wait; cat one two").ok(t)
	most := 250 * (int(time.Since(begun)/(10*time.Millisecond)) + 2)
	made := 0
	for line := range strings.Lines(out) {
		made += integer(t, result{out: line}.answer(t).Detail)
	}
	t.Logf("%d of at most %d", made, most)
	if made < 100 || made > most {
		t.Errorf("%d notifications were answered, at most %d may be", made, most)
	}
}
