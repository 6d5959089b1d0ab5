//go:build linux && !cgo

package linux_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux"
)

// hostShare makes the host look like one that gives each user so many inotify instances.
func hostShare(t *testing.T, proc, instances string) {
	t.Helper()
	for name, value := range map[string]string{"max_user_instances": instances, "max_user_watches": "8192"} {
		path := proc + "/sys/fs/inotify/" + name
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(value+"\n"), 0o644))
	}
}

// What the host's user has left is asked for each sandbox: neither a program that was kept nor a spare gives what there was
// before.
//
// proves A-SBX-02, A-SBX-11
func TestTheHostsShareIsThatOfNow(t *testing.T) {
	host := t.TempDir()
	t.Cleanup(linux.SetProc(host))
	hostShare(t, host, "40")
	f := sandboxed(t)
	instances := func(want string) {
		t.Helper()
		if got := f.sh("cat /proc/sys/user/max_inotify_instances").ok(t); got != want+"\n" {
			t.Errorf("a sandbox may have %q inotify instances, want %s", got, want)
		}
	}
	instances("10")
	hostShare(t, host, "8")
	f.another().open()
	instances("2")
	s := f.another().spare()
	hostShare(t, host, "4")
	if err := s.Take(within(t), f.policy); !errors.Is(err, sandbox.ErrStale) {
		t.Errorf("a spare from before was taken: %v", err)
	}
	hostShare(t, host, "no number")
	if err := f.another().tryOpen(); fault.CodeOf(err) != fault.PreflightMissingPrimitive {
		t.Errorf("with a host that tells nothing: %v", err)
	}
}

// proves A-SBX-02
func TestTimeLimitEndsTheTree(t *testing.T) {
	f := declare(t)
	f.policy.Resources.TimeoutSeconds = 2
	f.open()
	for _, c := range []struct {
		name    string
		timeout time.Duration
		least   time.Duration
	}{
		{"the call's, when shorter", time.Second, time.Second},
		{"the policy's, when shorter", time.Hour, 2 * time.Second},
		{"the policy's, when the call has none", 0, 2 * time.Second},
	} {
		cmd := f.command("/bin/sh", "-c", "rm -f lock held;"+daemon+"sleep 1000")
		cmd.Timeout = c.timeout
		begun := time.Now()
		r := f.run(cmd)
		r.coded(t, fault.ResourceTimeLimit)
		if took := time.Since(begun); took < c.least || took > c.least+10*time.Second {
			t.Errorf("%s: took %v", c.name, took)
		}
		if held(t, f.W+"/lock") {
			t.Errorf("%s: something outlived the limit", c.name)
		}
		notLost(t, f)
	}
}

// proves A-SBX-02
func TestMemoryLimitEndsTheTree(t *testing.T) {
	f := declare(t)
	f.policy.Resources.MemoryMB = 64
	f.open()
	const eat = `head -c 200000000 /dev/zero | tail -c 190000000 >/dev/null; echo ate`
	if out := f.control(eat); out.out != "ate\n" {
		t.Fatalf("control: %+v", out)
	}
	for range 2 {
		f.sh("rm -f lock held;"+daemon+eat+"; sleep 1000").coded(t, fault.ResourceMemoryLimit)
		if held(t, f.W+"/lock") {
			t.Error("something outlived the limit")
		}
		notLost(t, f)
	}
}

// proves A-SBX-02
func TestProcessLimitEndsTheTree(t *testing.T) {
	f := declare(t)
	f.policy.Resources.ProcessLimit = 5
	f.open()
	const four = `for i in 1 2 3 4; do sleep 0.3 & done; wait; echo all`
	if out := f.sh(four).ok(t); out != "all\n" {
		t.Errorf("exactly the limit: %q", out)
	}
	const five = `for i in 1 2 3 4 5; do sleep 0.3 & done; wait; echo all`
	if out := f.control(five).ok(t); out != "all\n" {
		t.Fatalf("control: %q", out)
	}
	for range 2 {
		r := f.sh(five + "; sleep 1000")
		r.coded(t, fault.ResourceProcessLimit)
		notLost(t, f)
	}
	f.sh(`b() { b | b & }; b; sleep 1000`).coded(t, fault.ResourceProcessLimit)
	notLost(t, f)
}
