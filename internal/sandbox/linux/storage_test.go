//go:build linux && !cgo

package linux_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	sandboxbroker "sekisho/internal/sandbox/broker"
	"sekisho/internal/sandbox/linux"
	"sekisho/internal/statedir"
)

// brokered is a fixture whose tasks are opened by a real broker with a real state directory.
type brokered struct {
	*fixture
	broker   *sandboxbroker.Broker
	instance *statedir.Instance
}

func (f *fixture) brokered() *brokered {
	f.t.Helper()
	dir, err := statedir.Open(fileop.OS(), f.dir+"/state")
	must(f.t, err)
	f.t.Cleanup(func() { dir.Close() })
	i, err := dir.NewInstance(f.t.Context())
	must(f.t, err)
	journals, err := i.Sub(sandboxbroker.JournalDir)
	must(f.t, err)
	homes, err := statedir.OpenHomes(fileop.OS(), f.dir+"/cache")
	must(f.t, err)
	f.t.Cleanup(func() { homes.Close(); journals.Close(); i.Close() })
	b := sandboxbroker.New(sandboxbroker.Deps{Backend: f.backend, Journal: journal.Open(fileop.OS(), journals), Instance: i, Homes: homes, Policy: f.policy, State: dir, Files: fileop.OS()})
	return &brokered{f, b, i}
}

// task opens a task; the fixture's run then uses it.
func (b *brokered) task(name string) {
	b.t.Helper()
	var err error
	b.job, err = b.broker.Open(within(b.t), "session", name)
	must(b.t, err)
}

func (b *brokered) end() {
	b.t.Helper()
	must(b.t, b.job.Close(within(b.t)))
	b.job = nil
}

const (
	taskA = "0b8f3f0e-9f8b-4f39-8b8e-3c8a4f9f6a0a"
	taskB = "0b8f3f0e-9f8b-4f39-8b8e-3c8a4f9f6a0b"
)

// proves A-SBX-08, A-SBX-02
func TestWhoFillsTempOrHomeIsEnded(t *testing.T) {
	f := declare(t)
	f.policy.TempMB, f.policy.HomeMB = 32, 64
	program := into(t, f.W, payload(t))
	b := f.brokered()
	b.task(taskA)
	for dir, of := range map[string]string{"/tmp": "sandbox.temp_mb", "$HOME": "sandbox.home_mb"} {
		for what, script := range map[string]string{
			"one file":                         "head -c 200M /dev/zero >" + dir + "/big; sleep 30; echo survived >" + f.W + "/mark",
			"behind its name":                  "mkdir " + dir + "/a; head -c 200M /dev/zero >" + dir + "/a/b; chmod 0 " + dir + "/a; sleep 30; echo survived >" + f.W + "/mark",
			"a deep tree":                      "cd " + dir + "; i=0; while [ $i -lt 600 ]; do mkdir d && cd d || exit 9; i=$((i+1)); done; sleep 30; echo survived >" + f.W + "/mark",
			"without a name":                   "exec 9>" + dir + "/gone; rm " + dir + "/gone; head -c 200M /dev/zero >&9; sleep 30; echo survived >" + f.W + "/mark",
			"without a name, closed to others": program + " fill-unnamed undumpable " + dir + "/gone 200 30; echo survived >" + f.W + "/mark",
			"without a name, not to be read":   "cp " + program + " closed; chmod 0111 closed; ./closed fill-unnamed plain " + dir + "/gone 200 30; echo survived >" + f.W + "/mark",
			"by a daemon of the run":           "(setsid sh -c 'trap \"\" TERM; head -c 200M /dev/zero >" + dir + "/big; sleep 30' &) ; sleep 30; echo survived >" + f.W + "/mark",
		} {
			r := f.run(f.command("/bin/sh", "-c", script))
			e := fault.As(r.fault)
			key := of
			if strings.HasPrefix(what, "without a name") {
				key = "sandbox.temp_mb" // where it was is not known any more
			}
			if e == nil || e.Code != fault.ResourceStorageLimit || e.Args["key"] != key {
				t.Errorf("%s, %s: %+v, %v", dir, what, r, r.fault)
			}
			if _, err := os.Lstat(f.W + "/mark"); err == nil {
				t.Errorf("%s, %s: it went on", dir, what)
			}
			// What was over its cap is empty now, and the task goes on.
			if out := f.run(f.command("/bin/sh", "-c", "ls -A "+dir+"; echo goes on")).ok(t); out != "goes on\n" {
				t.Errorf("%s, %s: afterwards %q", dir, what, out)
			}
		}
	}
	// The control: below the cap, and in the workspace, the same is allowed.
	f.run(f.command("/bin/sh", "-c", "head -c 8M /dev/zero >/tmp/small; head -c 200M /dev/zero >big; sleep 2; rm big; test -s /tmp/small")).ok(t)
	b.end()
	if left, err := os.ReadDir(b.instance.TreePath("temp")); err == nil && len(left) > 0 {
		t.Errorf("left of TEMP: %v", left)
	}
}

// proves A-SBX-08
func TestHomeIsKeptForItsWorkspaceAndTempIsNot(t *testing.T) {
	f := declare(t)
	b := f.brokered()
	b.task(taskA)
	f.sh("echo cache >~/cache; echo gone >/tmp/temp; printf '#!/bin/sh\\necho runs\\n' >~/prog; chmod +x ~/prog; ~/prog").ok(t)
	b.end()
	b.task(taskB)
	if out := f.sh("cat ~/cache; ~/prog; ls -A /tmp").ok(t); out != "cache\nruns\n" {
		t.Errorf("the next task finds %q", out)
	}
	b.end()
	// Under readonly HOME is the task's own and nothing runs from it.
	f.policy.Profile = "readonly"
	b = f.again2(b)
	b.task(taskA)
	if r := f.sh("ls -A ~; cp /bin/true ~/t; ~/t"); r.fault != nil || r.exit.Code == 0 || r.out != "" {
		t.Errorf("readonly: %+v", r)
	}
	b.end()
}

// again2 is a second server on the same directories.
func (f *fixture) again2(old *brokered) *brokered {
	must(f.t, old.instance.Close())
	return f.brokered()
}

// A HOME that an earlier task prepared gives the next one nothing but what it may do anyway, and leads the host nowhere.
//
// proves A-SBX-08, A-PRI-01
func TestAPoisonedHome(t *testing.T) {
	f := declare(t)
	f.policy.HomeMB = 64
	b := f.brokered()
	b.task(taskA)
	f.sh(`cd ~; ln -s / root; ln -s ` + f.S + ` secret; mkfifo fifo; echo "echo poisoned; cat ` + f.S + `" >.bashrc; cp .bashrc .profile; ln -s fifo .gitconfig
		mkdir -p closed/in; echo x >closed/in/x; chmod 0 closed; chmod u+s fifo; cp /bin/true setuid; chmod 6755 setuid; mkdir deep; cd deep; i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i+1)); done; true`).ok(t)
	home := f.policyHome()
	b.end()
	var st syscall.Stat_t
	must(t, syscall.Lstat(home+"/setuid", &st))
	if st.Mode&(syscall.S_ISUID|syscall.S_ISGID) != 0 {
		t.Errorf("a setuid file on the host: %o", st.Mode)
	}
	before, err := os.ReadFile(f.S)
	must(t, err)
	b.task(taskB)
	if r := f.sh("cat ~/secret || cat ~/root" + f.S + " || . ~/.profile"); strings.Contains(r.out, string(before)) || r.exit.Code == 0 {
		t.Errorf("the next task read the secret: %+v", r)
	}
	// What a login shell reads is the payload's own, as a makefile of the workspace is; it runs confined.
	if out := f.run(f.command("/bin/sh", "-lc", "true")).out; out != "poisoned\n" {
		t.Errorf("a login shell: %q", out)
	}
	// Over the cap it is emptied all the same, whatever is in it.
	f.run(f.command("/bin/sh", "-c", "head -c 200M /dev/zero >~/big; sleep 30")).coded(t, fault.ResourceStorageLimit)
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	b.end()
	if after, err := os.ReadFile(f.S); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the secret changed: %v", err)
	}
}

// policyHome is the tree of the one workspace's home on the host.
func (f *fixture) policyHome() string {
	found, err := filepath.Glob(f.dir + "/cache/home/*/tree")
	must(f.t, err)
	if len(found) != 1 {
		must(f.t, errors.New("no home, or several"))
	}
	return found[0]
}

// The child that PID 1 has forked ahead holds nothing of a payload, and nobody but root may look into it: it is passed over, so that
// measuring at the end of a run does not take it for a program that hides its files.
//
// proves A-SBX-08
func TestTheNextEntryProcessHoldsNoFiles(t *testing.T) {
	f := sandboxed(t)
	for range 20 {
		f.sh("true").ok(t)
		for range 20 { // from before the fork to after it
			if n, err := f.job.(sandbox.Unlinker).Unlinked(0); n != 0 || err != nil {
				t.Fatalf("between runs: %d bytes, %v", n, err)
			}
		}
	}
}

// A host may hide from an ordinary user whom he may not trace (hidepid), as a program that may be executed but not read. It counts as one
// that refuses to be looked at, not as one that has ended.
//
// proves A-SBX-08
func TestAHiddenProcessIsNotTakenForAnEndedOne(t *testing.T) {
	f := sandboxed(t)
	ready := make(writes, 1)
	c := f.command("/bin/sh", "-c", "echo ready; sleep 1000")
	c.Stdout = ready
	p, err := f.job.Start(within(t), c)
	must(t, err)
	<-ready
	if n, err := f.job.(sandbox.Unlinker).Unlinked(0); n != 0 || err != nil {
		t.Errorf("control: %d bytes, %v", n, err)
	}
	undo := linux.SetProc(t.TempDir())
	n, err := f.job.(sandbox.Unlinker).Unlinked(0)
	undo()
	if err == nil {
		t.Errorf("hidden: %d bytes and no error", n)
	}
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	p.Wait(ctx)
}
