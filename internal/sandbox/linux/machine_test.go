//go:build linux && !cgo

package linux_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux"
	"sekisho/test/delegate"
	"sekisho/test/product"
)

// machineEnv makes this binary a process that first turns its own surroundings into a machine that cannot sandbox, then
// says what Preflight thinks of it. Its value lists the remaining stages.
const machineEnv = "SEKISHO_TEST_MACHINE"

func machine(stages string) int {
	stage, rest, _ := strings.Cut(stages, ",")
	var err error
	next := &syscall.SysProcAttr{}
	switch stage {
	case "mask": // as a container does: a mount on a directory of /proc that a user's namespace cannot take away
		if err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err == nil {
			err = unix.Mount("none", "/proc/sys/fs", "tmpfs", unix.MS_RDONLY, "")
		}
		next.Credential = &syscall.Credential{Uid: otherID, Gid: otherID, Groups: []uint32{}}
	case "limit":
		err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	case "":
		fmt.Print(opinion())
		return 0
	}
	if err != nil {
		fmt.Print("stage ", stage, ": ", err)
		return 1
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), machineEnv+"="+rest)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, next
	if err := cmd.Run(); err != nil {
		fmt.Print("after stage ", stage, ": ", err)
		return 1
	}
	return 0
}

func opinion() string {
	program, err := bin.Build("cmd/agent-mcp")
	if err != nil {
		return err.Error()
	}
	b, err := linux.New(linux.Options{Program: program, Files: fileop.OS(), Cgroup: cgroupSetting()})
	if err != nil {
		return err.Error()
	}
	err = b.Preflight(context.Background())
	if e := fault.As(err); e != nil {
		return string(e.Code) + "." + e.Variant
	}
	return fmt.Sprint(err)
}

// ask runs this binary as a changed machine.
func ask(t *testing.T, stages string, attr *syscall.SysProcAttr) string {
	t.Helper()
	program, err := bin.Build("cmd/agent-mcp")
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(within(t), into(t, product.Dir(t), self))
	cmd.Env = append(os.Environ(), machineEnv+"="+stages, "SEKISHO_BIN="+strings.TrimSuffix(program, "/agent-mcp"))
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %s %v", stages, out, err)
	}
	return string(out)
}

// proves A-ERR-01, A-SBX-01
func TestMachinesThatCannotSandboxAreExplained(t *testing.T) {
	// All user ids stay as they are: the process only becomes the owner of a user namespace whose limit it may set.
	own := []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: own, GidMappings: own, AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE, unix.CAP_DAC_OVERRIDE}}
	if got, want := ask(t, "limit,", attr), "preflight.missing_primitive.namespace_limit"; got != want {
		t.Errorf("no user namespaces left: got %q, want %q", got, want)
	}
	if os.Geteuid() == 0 {
		group, err := delegate.Give(otherID)
		must(t, err)
		defer group.Remove()
		t.Setenv(cgroupEnv, group.Setting)
		if got, want := ask(t, "mask,", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}), "preflight.missing_primitive.proc_masked"; got != want {
			t.Errorf("a masked /proc: got %q, want %q", got, want)
		}
	}
	if got := ask(t, "", nil); got != "<nil>" {
		t.Errorf("control: this machine: %q", got)
	}
}

// proves A-SBX-01
func TestFileSystemsWithoutIDMappingAreRefusedToRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		return // an ordinary user's sandbox maps nothing
	}
	f := declare(t)
	dir := f.dir + "/ram"
	must(t, os.Mkdir(dir, 0o755))
	must(t, unix.Mount("none", dir, "ramfs", 0, ""))
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
	f.grant(dir, sandbox.Read|sandbox.Write, sandbox.OriginMount)
	err := f.tryOpen()
	if e := fault.As(err); e == nil || e.Code != fault.PreflightMissingPrimitive || e.Variant != "idmapped_mount" || e.Target != dir {
		t.Errorf("got %v", err)
	}
}
