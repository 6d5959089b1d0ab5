//go:build linux && !cgo

package linux_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Whoever holds a session keyring holds its keys, wherever the kernel itself asks for one. The filter keeps programs from asking,
// so the keyring is looked for on the host, as the sandbox's user: each sandbox has made one.
//
// proves A-SBX-04
func TestTheSessionKeyringIsTheSandboxsOwn(t *testing.T) {
	if _, err := os.Stat("/proc/keys"); os.IsNotExist(err) {
		return // a kernel without keyrings has none to hide
	}
	user := 0
	before := map[string]bool{}
	for range 2 { // the first tells who the sandbox's user is
		f := sandboxed(t)
		uid, err := strconv.Atoi(strings.Fields(f.sh("cat /proc/self/uid_map").ok(t))[1])
		must(t, err)
		if user == uid {
			fresh := 0
			for name := range sessionKeyrings(t, uid) {
				if !before[name] {
					fresh++
				}
			}
			if fresh == 0 {
				t.Errorf("the sandbox of user %d has no session keyring of its own", uid)
			}
		}
		user, before = uid, sessionKeyrings(t, uid)
	}
}

// sessionKeyrings are the serial numbers of the session keyrings that a user can see.
func sessionKeyrings(t *testing.T, uid int) map[string]bool {
	t.Helper()
	read := make(chan string)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its user
		if uid != os.Geteuid() {
			for _, call := range []uintptr{unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
				if _, _, errno := unix.RawSyscall(call, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
					t.Error(errno)
				}
			}
		}
		text, err := os.ReadFile("/proc/keys")
		if err != nil {
			text = []byte(err.Error())
		}
		read <- string(text)
	}()
	found := map[string]bool{}
	for line := range strings.Lines(<-read) {
		if f := strings.Fields(line); len(f) > 8 && f[7] == "keyring" && strings.HasPrefix(f[8], "_ses") && f[5] == strconv.Itoa(uid) {
			found[f[0]] = true
		}
	}
	return found
}
