//go:build linux && !cgo

package linux_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux"
	"sekisho/internal/sandbox/linux/probe"
	"sekisho/test/delegate"
	"sekisho/test/product"
)

// machineEnv makes this binary a process that first turns its own surroundings into a machine that cannot sandbox, then
// says what Preflight thinks of it. Its value lists the remaining stages.
const machineEnv = "SEKISHO_TEST_MACHINE"

// placeEnv asks to tell the control group, too, that this process is in afterwards.
const placeEnv = "SEKISHO_TEST_PLACE"

// factsEnv names what is injected, because no test can make it so.
const factsEnv = "SEKISHO_TEST_FACTS"

var facts = map[string]func(*probe.Facts){
	"":            func(*probe.Facts) {},
	"wsl1":        func(f *probe.Facts) { f.WSL1 = true },
	"landlock2":   func(f *probe.Facts) { f.LandlockABI = 2 },
	"userns off":  func(f *probe.Facts) { f.UsernsOff, f.Root = true, false },
	"overwritten": func(f *probe.Facts) { f.TextBusy = false },
	"apparmor":    func(f *probe.Facts) { f.AppArmorUserns, f.Root = true, false },
}

func machine(stages string) int {
	self := os.Args[0] // /proc/self/exe may be covered
	stage, rest, _ := strings.Cut(stages, ",")
	name, arg, _ := strings.Cut(stage, "=")
	var err error
	next := &syscall.SysProcAttr{}
	switch name {
	case "mask": // as a container does: a mount on a directory of /proc that a user's namespace cannot take away
		if err = private(); err == nil {
			err = unix.Mount("none", "/proc/sys/fs", "tmpfs", unix.MS_RDONLY, "")
		}
		next.Credential = &syscall.Credential{Uid: otherID, Gid: otherID, Groups: []uint32{}}
	case "cover": // something else lies there
		if err = private(); err == nil {
			err = unix.Mount("none", arg, "tmpfs", 0, "")
		}
	case "limit":
		err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	case "deny": // a system call by its number, with a mask for its first argument, as a container's filter does
		err = deny(arg, false)
	case "listener": // somebody else's, around this process
		err = deny("", true)
	case "":
		fmt.Print(opinion())
		return 0
	}
	if err != nil {
		fmt.Print("stage ", stage, ": ", err)
		return 1
	}
	cmd := exec.Command(self) // started from this thread, which a filter is on
	cmd.Env = append(os.Environ(), machineEnv+"="+rest)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, next
	if err := cmd.Run(); err != nil {
		fmt.Print("after stage ", stage, ": ", err)
		return 1
	}
	return 0
}

func private() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }

// deny puts a filter on this thread: "NUMBER:ERRNO:MASK" refuses a call whose first argument has a bit of MASK (0: any).
func deny(what string, listener bool) error {
	runtime.LockOSThread()
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}}
	if what != "" {
		var number, errno, mask uint32
		if _, err := fmt.Sscanf(what, "%d:%d:%d", &number, &errno, &mask); err != nil {
			return err
		}
		refuse := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | errno}
		if mask == 0 {
			filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1}, refuse)
		} else {
			filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 3},
				unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: mask, Jf: 1}, refuse)
		}
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	flags := uintptr(0)
	if listener {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER // and it stays open as long as this process waits for the next
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
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
	b.ChangeFacts(facts[os.Getenv(factsEnv)])
	err = b.Preflight(context.Background())
	if os.Getenv(placeEnv) != "" {
		own, _ := os.ReadFile("/proc/self/cgroup")
		return fmt.Sprintf("%v in %s", err, strings.TrimSpace(string(own)))
	}
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

// proves A-ERR-01, A-SBX-01, A-CLI-01
func TestMachinesThatCannotSandboxAreExplained(t *testing.T) {
	const missing = "preflight.missing_primitive."
	// All user ids stay as they are: the process only becomes the owner of a user namespace whose limit it may set.
	own := []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	limited := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: own, GidMappings: own, AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE, unix.CAP_DAC_OVERRIDE}}
	denied := func(number int, errno unix.Errno, mask uint32) string {
		return fmt.Sprintf("deny=%d:%d:%d,", number, int(errno), mask)
	}
	for _, c := range []struct {
		what, stages, facts string
		attr                *syscall.SysProcAttr
		want                string
	}{
		{"no user namespaces left", "limit,", "", limited, missing + "namespace_limit"},
		{"user namespaces refused", denied(unix.SYS_CLONE, unix.EPERM, unix.CLONE_NEWUSER), "", nil, missing + "user_namespace"},
		{"user namespaces unknown", denied(unix.SYS_CLONE, unix.EINVAL, unix.CLONE_NEWUSER), "", nil, missing + "user_namespace"},
		{"no Landlock", denied(unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS, 0), "", nil, missing + "landlock_absent"},
		{"Landlock refused late", denied(unix.SYS_LANDLOCK_RESTRICT_SELF, unix.EPERM, 0), "", nil, missing + "landlock"},
		{"no filters", denied(unix.SYS_SECCOMP, unix.ENOSYS, 0), "", nil, missing + "seccomp"},
		{"somebody else's listener", "listener,", "", nil, missing + "seccomp"},
		{"mounts refused", denied(unix.SYS_MOUNT, unix.EPERM, 0), "", nil, missing + "mount"},
		{"no detached mounts", denied(unix.SYS_OPEN_TREE, unix.ENOSYS, 0), "", nil, missing + "mount"},
		{"no change of the root", denied(unix.SYS_PIVOT_ROOT, unix.EPERM, 0), "", nil, missing + "mount"},
		{"tracing refused", denied(unix.SYS_PTRACE, unix.EPERM, 0), "", nil, missing + "exec_stop"},
		{"capabilities taken away late, and AppArmor", denied(unix.SYS_MOUNT, unix.EACCES, 0), "apparmor", nil, missing + "apparmor"},
		{"WSL 1", "", "wsl1", nil, missing + "wsl1"},
		{"an old kernel", "", "landlock2", nil, missing + "landlock"},
		{"a distribution's switch", "", "userns off", nil, missing + "userns_off"},
		{"programs can be overwritten", "", "overwritten", nil, missing + "text_busy"},
		{"control: this machine", "", "", nil, "<nil>"},
	} {
		t.Setenv(factsEnv, c.facts)
		if got := ask(t, c.stages, c.attr); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	t.Setenv(factsEnv, "")
	apart := func() *syscall.SysProcAttr { return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS} }
	if got := ask(t, "cover=/proc,", apart()); got != missing+"proc" {
		t.Errorf("no /proc: got %q", got)
	}
	if got := ask(t, "cover=/sys/fs/cgroup,", apart()); !strings.HasPrefix(got, "resource.memory_unenforceable.") {
		t.Errorf("no control groups: got %q", got)
	}
	group, err := delegate.Give(otherID)
	must(t, err)
	defer group.Remove()
	t.Setenv(cgroupEnv, group.Setting)
	if got := ask(t, "mask,", apart()); got != missing+"proc_masked" {
		t.Errorf("a masked /proc: got %q", got)
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
