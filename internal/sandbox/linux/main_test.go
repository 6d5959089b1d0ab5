//go:build linux && !cgo

package linux_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/test/delegate"
	"sekisho/test/product"
)

// Every test here runs twice when the user is root: as root, and again as a user that has no account, to whom root gives a
// control group. The second run is this binary again, copied to where that user may execute it.
const (
	otherID   = 65501
	cgroupEnv = "SEKISHO_TEST_CGROUP"
	mountEnv  = "SEKISHO_TEST_MOUNTS" // a directory that holds mounts, which only root can make
	brokerEnv = "SEKISHO_TEST_BROKER" // this process is a broker that a test will kill
)

var bin product.Bin

func TestMain(m *testing.M) {
	if os.Getenv(brokerEnv) != "" {
		os.Exit(broker())
	}
	if stages, set := os.LookupEnv(machineEnv); set {
		os.Exit(machine(stages))
	}
	code := m.Run()
	if code == 0 && os.Geteuid() == 0 {
		code = again()
	}
	if err := bin.Close(); err != nil && code == 0 {
		code = 1
	}
	os.Exit(code)
}

// again runs this binary as an ordinary user.
func again() int {
	dir, err := os.MkdirTemp("/var/tmp", "sekisho-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	group, err := delegate.Give(otherID)
	if err != nil {
		fmt.Fprintln(os.Stderr, "a control group for the ordinary user:", err)
		return 1
	}
	defer group.Remove()
	mounted := dir + "/mounted"
	unmount, err := mountBelow(mounted)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mounts for the ordinary user:", err)
		return 1
	}
	defer unmount()
	code, err := asOther(dir, group, mounted)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the run as an ordinary user:", err)
		return 1
	}
	return code
}

func asOther(dir string, group *delegate.Group, mounted string) (int, error) {
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return 1, err
	}
	path := filepath.Join(dir, "linux.test")
	if err := os.WriteFile(path, self, 0o755); err != nil {
		return 1, err
	}
	built := dir
	for _, pkg := range []string{"cmd/agent-mcp", "test/payload"} {
		program, err := bin.Build(pkg)
		if err != nil {
			return 1, err
		}
		built = filepath.Dir(program)
	}
	var args []string
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(a, "-test.testlogfile") && !strings.HasPrefix(a, "-test.coverprofile") && !strings.HasPrefix(a, "-test.gocoverdir") {
			args = append(args, a)
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), product.Env+"="+built, cgroupEnv+"="+group.Setting, mountEnv+"="+mounted, "HOME="+dir, "TMPDIR=/tmp")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherID, Gid: otherID, Groups: []uint32{}}}
	if group.Home != "" {
		home, err := os.Open(group.Home)
		if err != nil {
			return 1, err
		}
		defer home.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(home.Fd())
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return 1, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// mountBelow makes a directory with a directory and a file that are mounts of their own, of a file system that holds a
// secret.
func mountBelow(dir string) (func(), error) {
	var done []string
	undo := func() {
		for _, path := range slices.Backward(done) {
			unix.Unmount(path, unix.MNT_DETACH)
		}
	}
	for _, path := range []string{dir, dir + "/inner"} {
		if err := os.Mkdir(path, 0o755); err != nil {
			return undo, err
		}
	}
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		return undo, err
	}
	if err := unix.Mount("none", dir+"/inner", "tmpfs", 0, "mode=755"); err != nil {
		return undo, err
	}
	done = append(done, dir+"/inner")
	if err := os.WriteFile(dir+"/inner/secret", []byte("mounted secret"), 0o644); err != nil {
		return undo, err
	}
	if err := os.MkdirAll(dir+"/inner/a/root", 0o755); err != nil {
		return undo, err
	}
	for _, name := range []string{"/inner/a/root/known", "/inner/a/unknown"} {
		if err := os.WriteFile(dir+name, []byte("mounted secret"), 0o644); err != nil {
			return undo, err
		}
	}
	if err := unix.Mount(dir+"/inner/secret", dir+"/file", "", unix.MS_BIND, ""); err != nil {
		return undo, err
	}
	done = append(done, dir+"/file")
	return undo, nil
}
