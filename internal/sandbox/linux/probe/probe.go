//go:build linux

package probe

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox/linux/wire"
)

// MinLandlock is the oldest Landlock version that controls truncation.
const MinLandlock = 3

// MinLandlockNetwork is the oldest Landlock version that controls TCP ports.
const MinLandlockNetwork = 4

// Facts are what this machine says about itself.
type Facts struct {
	Root        bool
	LandlockABI int
	// MaxUserNamespaces is user.max_user_namespaces; -1 when it cannot be read.
	MaxUserNamespaces int
	// UsernsOff is true where a distribution's kernel.unprivileged_userns_clone is 0.
	UsernsOff bool
	// AppArmorUserns is true where AppArmor takes the capabilities of unprivileged user namespaces away.
	AppArmorUserns bool
	// WSL1 is true on the Windows layer that imitates Linux without a Linux kernel.
	WSL1 bool
	// Proc is true where /proc is the kernel's.
	Proc bool
	// Notify is true where the kernel has system call filters that notify another process.
	Notify bool
	// TextBusy is true when the kernel keeps a running program's file from being written.
	TextBusy bool
}

// Read collects the facts that files below /proc tell; proc is that directory.
func Read(proc fs.FS) Facts {
	release := text(proc, "sys/kernel/osrelease")
	return Facts{
		MaxUserNamespaces: number(proc, "sys/user/max_user_namespaces", -1),
		UsernsOff:         number(proc, "sys/kernel/unprivileged_userns_clone", 1) == 0,
		AppArmorUserns:    number(proc, "sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 1,
		WSL1:              strings.HasSuffix(release, "-Microsoft"), // WSL 2 says "-microsoft-standard-WSL2"
	}
}

const corePattern = "sys/kernel/core_pattern"

// CoreSocket reports whether the kernel connects to a socket of the host for every crash (Linux 6.16, kernel.core_pattern with
// "@"). It then asks for no limit, so nothing inside can keep the crash of a payload from that program. proc is as in Read.
func CoreSocket(proc fs.FS) bool {
	return strings.HasPrefix(text(proc, corePattern), "@")
}

// DumpSocket is CoreSocket for who asks often: the file stays open, and what it says is the kernel's word at each call.
func DumpSocket(proc string) func() bool {
	open := sync.OnceValues(func() (*os.File, error) { return os.Open(filepath.Join(proc, corePattern)) })
	return func() bool {
		var text [1]byte
		if f, err := open(); err == nil {
			if n, err := f.ReadAt(text[:], 0); n == 1 || err == io.EOF {
				return text[0] == '@'
			}
		}
		return CoreSocket(os.DirFS(proc))
	}
}

// RefuseCoreSocket is the refusal where CoreSocket holds.
func RefuseCoreSocket() error { return missing("core_socket", "/proc/sys/kernel/core_pattern", nil) }

func text(proc fs.FS, name string) string {
	b, err := fs.ReadFile(proc, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func number(proc fs.FS, name string, missing int) int {
	n, err := strconv.Atoi(text(proc, name))
	if err != nil {
		return missing
	}
	return n
}

// Refuse returns what rules this machine out before anything is tried, or nil.
func Refuse(f Facts) error {
	switch {
	case f.WSL1:
		return missing("wsl1", "", nil)
	case !f.Proc:
		return missing("proc", "/proc", nil)
	case f.LandlockABI < 1:
		return missing("landlock_absent", "", nil)
	case f.LandlockABI < MinLandlock:
		return missing("landlock", "", nil).With(fault.Arg("abi", f.LandlockABI), fault.Arg("needed", MinLandlock))
	case f.MaxUserNamespaces == 0:
		return missing("namespace_limit", "", nil)
	case f.UsernsOff && !f.Root:
		return missing("userns_off", "", nil)
	case !f.Notify:
		return missing("seccomp", "", nil)
	case !f.TextBusy:
		return missing("text_busy", "", nil)
	}
	return nil
}

// RefuseNetwork returns what rules this machine out for a sandbox with a network, or nil.
func RefuseNetwork(f Facts) error {
	if f.LandlockABI < MinLandlockNetwork {
		return missing("landlock_network", "", nil).With(fault.Arg("abi", f.LandlockABI), fault.Arg("needed", MinLandlockNetwork))
	}
	return nil
}

// Explain turns the stage at which building a sandbox failed into the refusal that people read.
func Explain(e *wire.Failed, f Facts) *fault.Error {
	errno := unix.Errno(e.Errno)
	refused := errno == unix.EPERM || errno == unix.EACCES
	// AppArmor lets the namespaces be made and then refuses whatever needs a capability in them.
	if refused && f.AppArmorUserns && !f.Root {
		switch e.Stage {
		case wire.StageClone, wire.StageMap, wire.StageNamespace, wire.StageProc, wire.StageSysctl, wire.StageMount, wire.StagePivot, wire.StageNetwork, wire.StageDrop:
			return missing("apparmor", e.Target, e)
		}
	}
	switch e.Stage {
	case wire.StageClone:
		switch errno {
		case unix.ENOSPC, unix.EUSERS:
			return missing("namespace_limit", e.Target, e)
		case unix.EACCES, unix.ENOENT, unix.ENOEXEC, unix.ENOTDIR:
			return missing("program", e.Target, e)
		}
		return missing("user_namespace", e.Target, e)
	case wire.StageMap, wire.StageNamespace, wire.StageDrop:
		return missing("user_namespace", e.Target, e)
	case wire.StageNetwork:
		return missing("network_namespace", e.Target, e)
	case wire.StageProc, wire.StageSysctl:
		return missing("proc_masked", e.Target, e)
	case wire.StageIDMap:
		return missing("idmapped_mount", e.Target, e)
	case wire.StageSource:
		return fault.New(fault.SandboxResolutionChanged, fault.Target(e.Target), fault.Cause(e))
	case wire.StageLandlock:
		if f.LandlockABI < 1 {
			return missing("landlock_absent", e.Target, e)
		}
		return missing("landlock", e.Target, e).With(fault.Arg("abi", f.LandlockABI), fault.Arg("needed", MinLandlock))
	case wire.StageSeccomp:
		return missing("seccomp", e.Target, e)
	case wire.StageFork, wire.StageExec, wire.StageStop:
		return missing("exec_stop", e.Target, e)
	default:
		return missing("mount", e.Target, e)
	}
}

func missing(variant, target string, cause error) *fault.Error {
	return fault.New(fault.PreflightMissingPrimitive, fault.Variant(variant), fault.Target(target), fault.Cause(cause))
}
