//go:build linux && !cgo

package linux_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// proves A-SBX-01, A-SBX-04
func TestFilesBelongToTheOwnerOfTheRoot(t *testing.T) {
	f := declare(t)
	owner := os.Geteuid()
	if owner == 0 {
		// A root of somebody else, as when root serves a user's workspace.
		owner = 4242
		for _, path := range []string{f.W, f.R, f.R + "/file"} {
			must(t, os.Chown(path, owner, owner))
		}
		must(t, os.WriteFile(f.W+"/foreign", []byte("x"), 0o644)) // root's own
		must(t, os.WriteFile(f.W+"/closed", []byte("x"), 0o600))
	}
	must(t, os.Chmod(f.R+"/file", 0o600))
	f.open()
	got := f.sh(`id -u; stat -c %u . "$1/file" /tmp ~; cat "$1/file"; echo new >new; mkdir dir; echo x >/tmp/x; echo x >~/x; echo x >/dev/shm/x`, f.R).ok(t)
	me := strings.Fields(got)[0]
	if want := strings.Repeat(me+"\n", 5) + "readable"; got != want {
		t.Errorf("inside: got %q, want %q", got, want)
	}
	for path, want := range map[string]int{f.W + "/new": owner, f.W + "/dir": owner, f.dir + "/temp/x": os.Geteuid(), f.dir + "/home/x": os.Geteuid()} {
		var st syscall.Stat_t
		must(t, syscall.Lstat(path, &st))
		if int(st.Uid) != want {
			t.Errorf("%s belongs to %d, want %d", path, st.Uid, want)
		}
	}
	if os.Geteuid() == 0 {
		if out := f.sh(`stat -c %u foreign; cat closed || echo refused; echo y >foreign || echo refused`).ok(t); out != "65534\nrefused\nrefused\n" {
			t.Errorf("files of another owner: %q", out)
		}
	}
}

// proves A-SBX-04, A-SBX-09
func TestKernelIdentityIsNeverRoot(t *testing.T) {
	f := sandboxed(t)
	ready := make(writes, 1)
	c := f.command("/bin/sh", "-c", "echo $$; sleep 1000")
	c.Stdout = ready
	ctx, cancel := context.WithCancel(within(t))
	p, err := f.job.Start(ctx, c)
	must(t, err)
	<-ready
	for _, pid := range append(children(t, inits(t)[0]), inits(t)...) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		must(t, err)
		for line := range strings.Lines(string(status)) {
			fields := strings.Fields(line)
			if len(fields) == 0 || fields[0] != "Uid:" && fields[0] != "Gid:" && fields[0] != "Groups:" {
				continue
			}
			for _, id := range fields[1:] {
				if id == "0" {
					t.Errorf("process %d: %s", pid, line)
				}
			}
		}
	}
	// The host's root-owned switches stay closed even where a mode bit of root would open them.
	cancel()
	p.Wait(ctx)
	if r := f.sh(`echo x >/proc/sys/kernel/core_pattern`); r.exit.Code == 0 {
		t.Error("core_pattern could be written")
	}
}

// proves A-SBX-03
func TestSetuidProgramsGainNothing(t *testing.T) {
	f := declare(t)
	must(t, os.Chmod(into(t, f.W, "/usr/bin/id"), 0o6755))
	f.open()
	if out := f.sh(`./id -u; id -u`).ok(t); strings.Fields(out)[0] != strings.Fields(out)[1] {
		t.Errorf("got %q", out)
	}
	if out := f.sh(`cp /usr/bin/id made && chmod 6755 made && ./made -u; id -u`).ok(t); strings.Fields(out)[0] != strings.Fields(out)[1] {
		t.Errorf("made inside: %q", out)
	}
}
