//go:build linux

package filter

import (
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// minABI is the first version that knows truncation (3, Linux 6.2).
const minABI = 3

const (
	readFile    = ll.AccessFSReadFile
	readDir     = readFile | ll.AccessFSReadDir
	writeFile   = ll.AccessFSWriteFile | ll.AccessFSTruncate
	writeDir    = writeFile | ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSym | ll.AccessFSMakeFifo | ll.AccessFSRefer
	deleteDir   = ll.AccessFSRemoveFile | ll.AccessFSRemoveDir
	executeFile = ll.AccessFSExecute
)

// access translates rights. Creating and linking names is writing; every way to take a name away (unlink, rmdir,
// rename, rename over, exchange) needs Delete. Refer alone moves nothing: it lifts the ban on links and renames
// between directories, and the kernel still refuses those that would gain a right. Devices and sockets are never made
// and devices never controlled.
func access(r sandbox.Rights, file bool) uint64 {
	var a uint64
	add := func(want sandbox.Rights, onFile, onDir uint64) {
		if r.Has(want) && file {
			a |= onFile
		} else if r.Has(want) {
			a |= onDir
		}
	}
	add(sandbox.Read, readFile, readDir)
	add(sandbox.Write, writeFile, writeDir)
	add(sandbox.Delete, 0, deleteDir)
	add(sandbox.Execute, executeFile, executeFile)
	return a
}

// handled is everything that the given ABI can deny; what is handled and not granted is denied.
func handled(abi int) ll.RulesetAttr {
	a := ll.RulesetAttr{HandledAccessFS: 1<<(15) - 1} // ABI 3: up to TRUNCATE
	if abi >= 4 {
		a.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if abi >= 5 {
		a.HandledAccessFS |= ll.AccessFSIoctlDev
	}
	if abi >= 6 {
		a.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	if abi >= 9 {
		a.HandledAccessFS |= ll.AccessFSResolveUnix
	}
	if abi >= 10 {
		a.HandledAccessNet |= ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP
	}
	return a
}

// Ruleset writes what makes a Landlock ruleset for Enter: everything that the kernel's Landlock knows (of what is known here) is
// handled and denied unless granted by rules. It needs ABI 3 or newer, and NetworkABI for a domain with ports, and never tries with
// less; the failure is fault.PreflightMissingPrimitive, variant landlock.
func Ruleset(to *opcode.Builder, rules []PathRule, ports *Ports) (ruleset opcode.Ref, err error) {
	abi, err := LandlockABI()
	if err != nil {
		return 0, err
	}
	if ports != nil && abi < NetworkABI {
		return 0, landlockFault(abi, fmt.Errorf("the kernel has Landlock ABI %d, %d is needed for a network", abi, NetworkABI)).With(fault.Arg("needed", NetworkABI))
	}
	to.For(wire.StageLandlock, "")
	attr := handled(abi)
	ruleset = to.Slot()
	// Its later members, which are about the audit log, are not used: older kernels take a shorter structure.
	to.Call(unix.SYS_LANDLOCK_CREATE_RULESET, opcode.At(to.Words(attr.HandledAccessFS, attr.HandledAccessNet, attr.Scoped)), opcode.Int(24), opcode.Int(0)).Into(ruleset)
	for _, r := range rules {
		beneath := access(r.Rights, r.File)
		if r.List {
			if r.Rights != 0 || r.File {
				return 0, fmt.Errorf("landlock rule of %s: a list rule has rights of its own", r.Path)
			}
			beneath = ll.AccessFSReadDir
		}
		if beneath == 0 {
			continue // nothing granted; the kernel has no rule for that
		}
		to.For(wire.StageLandlock, r.Path)
		rule := to.Words(beneath, 0) // struct landlock_path_beneath_attr: the rights, then the descriptor as an int32
		to.Call(unix.SYS_OPENAT, opcode.Int(unix.AT_FDCWD), to.Text(r.Path), opcode.Int(unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC), opcode.Int(0)).Into(rule + 8)
		to.Call(unix.SYS_LANDLOCK_ADD_RULE, opcode.Value(ruleset), opcode.Int(ll.RuleTypePathBeneath), opcode.At(rule), opcode.Int(0))
		to.Call(unix.SYS_CLOSE, opcode.Value(rule+8))
	}
	to.For(wire.StageLandlock, "")
	if ports != nil {
		ports.add(to, ruleset)
	}
	return ruleset, nil
}

// Enter writes what restricts the thread that runs it, which has no_new_privs, to a ruleset for the rest of its life.
func Enter(to *opcode.Builder, ruleset opcode.Ref) {
	to.For(wire.StageLandlock, "")
	to.Call(unix.SYS_LANDLOCK_RESTRICT_SELF, opcode.Value(ruleset), opcode.Int(0))
	to.Call(unix.SYS_CLOSE, opcode.Value(ruleset))
}

// LandlockABI returns the kernel's Landlock ABI version; one below 3, or none, is fault.PreflightMissingPrimitive,
// variant landlock.
func LandlockABI() (int, error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0, landlockFault(0, fmt.Errorf("asking for the Landlock version: %w", err))
	}
	if abi < minABI {
		return abi, landlockFault(abi, fmt.Errorf("the kernel has Landlock ABI %d, %d is needed", abi, minABI))
	}
	return abi, nil
}

// NetworkABI is the first version that knows TCP ports (4, Linux 6.7).
const NetworkABI = 4

// add puts the rules of p into a ruleset.
func (p *Ports) add(to *opcode.Builder, ruleset opcode.Ref) {
	put := func(rule opcode.Ref) opcode.Op {
		return to.Call(unix.SYS_LANDLOCK_ADD_RULE, opcode.Value(ruleset), opcode.Int(ll.RuleTypeNetPort), opcode.At(rule), opcode.Int(0))
	}
	for _, port := range p.Connect {
		put(to.Words(ll.AccessNetConnectTCP, uint64(port)))
	}
	if p.OwnFirst == 0 {
		return
	}
	put(to.Words(ll.AccessNetBindTCP, 0))
	// Once around for each port: the port is the second member of the rule, and the low half of that is counted up.
	own := to.Words(ll.AccessNetConnectTCP|ll.AccessNetBindTCP, uint64(p.OwnFirst))
	again, last := to.NewLabel(), to.NewLabel()
	to.Mark(again)
	put(own)
	to.Count(own+8, uint32(p.OwnLast)).Then(again).On(0, last)
	to.Mark(last)
}

func landlockFault(abi int, cause error) *fault.Error {
	return fault.New(fault.PreflightMissingPrimitive, fault.Variant("landlock"), fault.Arg("abi", abi), fault.Arg("needed", minABI), fault.Cause(cause))
}
