//go:build linux && !cgo

package linux_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
)

// What a payload could leave on its host or take from it, beside its own memory and processes.

// proves A-SBX-03, A-SBX-04
func TestNothingThatRunsAsItsOwnerIsLeft(t *testing.T) {
	f, try := armed(t)
	calls := []string{"fchmod", "fchmodat", "fchmodat2", "openat", "tmpfile", "mknodat", "mkdirat"}
	if runtime.GOARCH == "amd64" {
		calls = append(calls, "chmod", "open", "creat", "mknod", "mkdir")
	}
	twin := beside(t, f)
	set := func(dir, call, mode string, run func(args ...string) answer) (fs.FileMode, answer) {
		path := filepath.Join(dir, call+mode)
		if strings.Contains(call, "chmod") {
			must(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
		}
		a := run("set-id", call, path, mode)
		st, err := os.Lstat(path)
		if err != nil {
			return 0, a
		}
		return st.Mode() & (fs.ModeSetuid | fs.ModeSetgid), a
	}
	for _, call := range calls {
		for _, mode := range []string{"4755", "2755", "6711"} {
			if got, a := set(f.W, call, mode, try); got != 0 || a.OK {
				t.Errorf("%s %s: the host has %v: %+v", call, mode, got, a)
			}
			if got, a := set(twin, call, mode, func(args ...string) answer { return unconfined(t, twin, payload(t), args...).answer(t) }); got == 0 {
				t.Errorf("control: %s %s: %+v", call, mode, a)
			}
		}
		// The same call with an ordinary mode works, so it is the bits that are refused.
		if _, a := set(f.W, call, "1711", try); !a.OK {
			t.Errorf("%s without the bits: %+v", call, a)
		}
	}
	if a := try("set-id", "openat2", f.W+"/o2", "4755"); a.OK || a.Errno != "ENOSYS" {
		t.Errorf("openat2: %+v", a)
	}
	must(t, filepath.WalkDir(f.W, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if fi, err := d.Info(); err == nil && fi.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("left on the host: %s %v", path, fi.Mode())
		}
		return nil
	}))
}

// beside makes a directory beside the workspace, for controls.
func beside(t *testing.T, f *fixture) string {
	t.Helper()
	dir := f.dir + "/twin"
	must(t, os.Mkdir(dir, 0o755))
	return dir
}

// proves A-SBX-04, A-SBX-09
func TestNoUnchargedAnswers(t *testing.T) {
	_, try := armed(t)
	for _, protocol := range []int{unix.NETLINK_ROUTE, unix.NETLINK_KOBJECT_UEVENT, unix.NETLINK_GENERIC} {
		if a := try("netlink", strconv.Itoa(protocol)); a.OK || a.Errno != "EPERM" {
			t.Errorf("netlink %d: %+v", protocol, a)
		}
		if a := unconfined(t, "/", payload(t), "netlink", strconv.Itoa(protocol)).answer(t); !a.OK {
			t.Errorf("control: netlink %d: %+v", protocol, a)
		}
	}
	for _, action := range []string{"packet-filter", "multicast"} {
		if a := try(action); a.OK || a.Errno != "EPERM" {
			t.Errorf("%s: %+v", action, a)
		}
		if a := unconfined(t, "/", payload(t), action).answer(t); !a.OK {
			t.Errorf("control: %s: %+v", action, a)
		}
	}
	if a := try("open-files", "100000"); a.OK || a.Errno != "EMFILE" || integer(t, a.Detail) > 4096 {
		t.Errorf("open files: %+v", a)
	}
}

func integer(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	must(t, err)
	return n
}

// proves A-SBX-02, A-SBX-09
func TestTheHostsUserKeepsHisShare(t *testing.T) {
	_, try := armed(t)
	a := try("inotify", "4000")
	if n := integer(t, a.Detail); a.OK || n > 16 || n < 8 {
		t.Errorf("inotify instances: %+v", a)
	}
	// The control takes all that its user may have. That of root's sandboxes, which other tests open meanwhile, would be missed.
	var alone *syscall.Credential
	if os.Geteuid() == 0 {
		alone = &syscall.Credential{Uid: 65502, Gid: 65502, Groups: []uint32{}}
	}
	control := unconfinedAs(t, alone, "/", payload(t), "inotify", "4000").answer(t)
	if integer(t, control.Detail) <= 16 {
		t.Errorf("control: %+v", control)
	}
	got := map[string]int{}
	for word := range strings.FieldsSeq(try("limits").Detail) {
		name, value, _ := strings.Cut(word, "=")
		got[name] = integer(t, value)
	}
	for name, most := range map[string]int{"files": 4096, "signals": 1024, "queues": 0, "locked": 1 << 20,
		"max_inotify_instances": 16, "max_inotify_watches": 8192, "max_user_namespaces": 0} {
		if n, ok := got[name]; !ok || n > most {
			t.Errorf("%s is %d, want %d at most", name, n, most)
		}
	}
}

// proves A-POL-01, A-SBX-01
func TestMemoryIsNoWayToExecute(t *testing.T) {
	f := declare(t)
	program := into(t, f.R, payload(t))
	f.policy.Profile = "readonly"
	for i := range f.policy.Roots {
		if f.policy.Roots[i].Path == f.W {
			f.policy.Roots[i].Rights = sandbox.Read
		}
	}
	tools := f.dir + "/tools"
	must(t, os.Mkdir(tools, 0o755))
	tool := into(t, tools, payload(t))
	f.grant(tools, sandbox.Read|sandbox.Execute, sandbox.OriginRuntimeRoot)
	f.open()
	run := func(args ...string) answer { return f.run(f.command(tool, args...)).answer(t) }
	if a := run("memfd-exec", program, "ids"); a.OK || a.Errno != "EACCES" {
		t.Errorf("a program in memory: %+v", a)
	}
	if a := unconfined(t, f.R, tool, "memfd-exec", program, "ids").answer(t); !a.OK || !strings.Contains(a.Detail, "uid") {
		t.Errorf("control: %+v", a)
	}
	for _, loader := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		if _, err := os.Stat(loader); err != nil {
			continue
		}
		if a := run("memfd-sealed", loader, "/usr/bin/id"); a.OK || a.Errno != "EACCES" {
			t.Errorf("a program in sealed memory, by the loader: %+v", a)
		}
		if a := unconfined(t, f.R, tool, "memfd-sealed", loader, "/usr/bin/id").answer(t); !a.OK || !strings.Contains(a.Detail, "uid") {
			t.Errorf("control: %+v", a)
		}
	}
	if a := run("exec", program, "ids"); a.OK {
		t.Errorf("a file without the execute right: %+v", a)
	}
}

// proves A-POL-02, A-SBX-01
func TestWhatAMountHidesStaysHidden(t *testing.T) {
	if os.Geteuid() != 0 {
		return // mounts are root's to make; what an ordinary user's server makes of them is seen in view_test.go
	}
	f := declare(t)
	over, file := f.W+"/over", f.W+"/file"
	must(t, os.Mkdir(over, 0o777))
	must(t, os.WriteFile(over+"/hidden", []byte("hidden"), 0o666))
	must(t, os.WriteFile(file, []byte("hidden"), 0o666))
	must(t, os.WriteFile(f.dir+"/top", []byte("top"), 0o666))
	must(t, unix.Mount("none", over, "tmpfs", 0, "mode=777"))
	t.Cleanup(func() { unix.Unmount(over, unix.MNT_DETACH) })
	must(t, unix.Mount(f.dir+"/top", file, "", unix.MS_BIND, ""))
	t.Cleanup(func() { unix.Unmount(file, unix.MNT_DETACH) })
	must(t, os.WriteFile(over+"/top", []byte("top"), 0o666))
	// A nested one, and one that another mount has made unreachable.
	must(t, os.MkdirAll(over+"/in/ner", 0o777))
	must(t, unix.Mount("none", over+"/in", "tmpfs", 0, "mode=777"))
	t.Cleanup(func() { unix.Unmount(over+"/in", unix.MNT_DETACH) })
	f.open()
	const look = `ls -A "$1/over"; cat "$1/over/hidden" "$1/over/top" "$1/file"; echo in >"$1/over/new"; echo in >"$1/file"; mkdir "$1/over/made"; true`
	if out := f.sh(look, f.W).ok(t); out != "" {
		t.Errorf("seen inside: %q", out)
	}
	if out := f.control(look, f.W).ok(t); !strings.Contains(out, "toptop") {
		t.Errorf("control: %q", out)
	}
	must(t, unix.Unmount(over+"/in", 0))
	must(t, unix.Unmount(over, 0))
	must(t, unix.Unmount(file, 0))
	for path, want := range map[string]string{over + "/hidden": "hidden", file: "hidden"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s has become %q, %v", path, got, err)
		}
	}
	if _, err := os.Lstat(over + "/new"); err == nil {
		t.Error("something was written below the mount")
	}
}

// proves A-SBX-07
//
// What programs do by the refused calls, they do without.
func TestProgramsFallBack(t *testing.T) {
	f := sandboxed(t)
	for _, c := range []struct{ program, script, want string }{
		{"python3", `python3 -c 'import socket; print(socket.getaddrinfo("127.0.0.1",80)[0][4][0], socket.getaddrinfo("localhost",80,socket.AF_INET)[0][4][0])'`, "127.0.0.1 127.0.0.1"},
		{"node", `node -e 'require("dns").lookup("127.0.0.1",(e,a)=>console.log(a)); try{require("os").networkInterfaces()}catch(e){console.log("no interfaces")}'`, "no interfaces 127.0.0.1"},
		{"getent", `getent ahostsv4 localhost | head -1 | cut -d" " -f1`, "127.0.0.1"},
		{"tar", `mkdir -p d && cp /usr/bin/id d/id && tar cf d.tar d && rm -r d && tar xf d.tar && ls d`, "id"},
		{"git", `git init -q r 2>&1 && ls -d r/.git`, "r/.git"},
	} {
		if _, err := exec.LookPath(c.program); err != nil {
			t.Logf("%s is not on this machine", c.program)
			continue
		}
		if r := f.sh(c.script); strings.Join(strings.Fields(r.out), " ") != c.want || r.fault != nil {
			t.Errorf("%s: %+v", c.program, r)
		}
	}
}
