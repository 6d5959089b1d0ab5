//go:build linux

package filter

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/opcode/opcodetest"
)

// outward are attempts that no rights of files cover. Each has an effect without Landlock; "port" is a port that listens and
// is granted for connecting, "other" one that is not.
var outward = []struct {
	name  string
	abi   int // that denies it
	root  bool
	try   func(dir string, port, other int) error
	inner string // what Landlock answers; "ok" where it grants
}{
	{"symlink", 3, false, func(dir string, _, _ int) error { return os.Symlink("x", dir+"/sym") }, "ok"},
	{"socket file", 3, false, func(dir string, _, _ int) error { return bindUnix(dir + "/sock") }, "EACCES"},
	{"character device", 3, true, func(dir string, _, _ int) error { return unix.Mknod(dir+"/chr", unix.S_IFCHR|0o600, 1<<8|3) }, "EACCES"},
	{"block device", 3, true, func(dir string, _, _ int) error { return unix.Mknod(dir+"/blk", unix.S_IFBLK|0o600, 7<<8) }, "EACCES"},
	{"control a device", 5, false, func(string, int, int) error {
		fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if _, err = unix.IoctlGetTermios(fd, unix.TCGETS); errors.Is(err, unix.ENOTTY) {
			return nil // the device itself answered
		}
		return err
	}, "EACCES"},
	{"connect to a granted port", 4, false, func(_ string, port, _ int) error { return connectTCP(port) }, "ok"},
	{"connect to another port", 4, false, func(_ string, _, other int) error { return connectTCP(other) }, "EACCES"},
	{"bind a port granted for connecting", 4, false, func(_ string, port, _ int) error { return bindTCP(port) }, "EACCES"},
	{"abstract socket of the host", 6, false, func(dir string, _, _ int) error { return connectUnix("\x00" + filepath.Base(filepath.Dir(dir))) }, "EPERM"},
	{"signal to the host", 6, false, func(string, int, int) error { return unix.Kill(os.Getppid(), 0) }, "EPERM"},
}

func bindUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrUnix{Name: name})
}

func connectUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}

func tcp(act func(fd int) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return act(fd)
}

func connectTCP(port int) error {
	return tcp(func(fd int) error {
		return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	})
}

// bindTCP binds another address of the loopback, where nobody has the port.
func bindTCP(port int) error {
	return tcp(func(fd int) error { return unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 2}}) })
}

// rightsHelper tries everything, inside a domain or, for the control, without one.
func rightsHelper(confined, dir, granted, not string) error {
	port, err := strconv.Atoi(granted)
	if err != nil {
		return err
	}
	other, err := strconv.Atoi(not)
	if err != nil {
		return err
	}
	if confined == "inside" {
		b := &opcode.Builder{}
		ruleset, err := Ruleset(b, []PathRule{{Path: dir, Rights: sandbox.Read | sandbox.Write | sandbox.Delete | sandbox.Execute},
			{Path: "/dev/null", Rights: sandbox.Read | sandbox.Write, File: true}}, &Ports{Connect: []uint16{uint16(port)}})
		if err != nil {
			return err
		}
		noNewPrivileges(b)
		Enter(b, ruleset)
		if _, err := opcodetest.Run(b, CallName); err != nil {
			return err
		}
	}
	out := map[string]string{}
	for _, a := range outward {
		err := a.try(dir, port, other)
		var errno syscall.Errno
		switch {
		case err == nil:
			out[a.name] = "ok"
		case errors.As(err, &errno):
			out[a.name] = unix.ErrnoName(errno)
		default:
			out[a.name] = err.Error()
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// Every right that the kernel's Landlock can deny is denied, each beside a control without Landlock.
//
// proves A-SBX-01, A-SBX-04, A-SBX-05
func TestEveryLandlockRightIsDenied(t *testing.T) {
	abi, err := LandlockABI()
	if err != nil {
		t.Fatal(err)
	}
	listen := func() (net.Listener, string) {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l, fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	}
	_, granted := listen()
	_, other := listen()
	results := map[string]map[string]string{}
	for _, where := range []string{"outside", "inside"} {
		base, err := os.MkdirTemp(t.TempDir(), "rights")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(base+"/w", 0o755); err != nil {
			t.Fatal(err)
		}
		abstract, err := net.Listen("unix", "@"+filepath.Base(base))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { abstract.Close() })
		cmd := exec.Command("/proc/self/exe", where, base+"/w", granted, other)
		cmd.Env = append(os.Environ(), helperEnv+"=rights")
		cmd.Stderr = os.Stderr
		b, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		got := map[string]string{}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		results[where] = got
	}
	wantIn, wantOut := map[string]string{}, map[string]string{}
	for _, a := range outward {
		if a.root && os.Geteuid() != 0 || a.abi > abi {
			delete(results["inside"], a.name)
			delete(results["outside"], a.name)
			continue
		}
		wantIn[a.name], wantOut[a.name] = a.inner, "ok"
	}
	if diff := cmp.Diff(wantOut, results["outside"]); diff != "" {
		t.Errorf("the control, without Landlock (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantIn, results["inside"]); diff != "" {
		t.Errorf("inside (-want +got):\n%s", diff)
	}
}
