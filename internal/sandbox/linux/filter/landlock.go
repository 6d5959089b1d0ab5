//go:build linux

package filter

import (
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
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

// Landlock restricts the calling thread, which must be locked, to rules for the rest of its life: everything that the
// kernel's Landlock knows (of what is known here) is handled and denied unless granted. It needs ABI 3 or newer and
// never tries with less; the failure is fault.PreflightMissingPrimitive, variant landlock.
//
// A domain with ports needs ABI 4 or newer (NetworkABI).
func Landlock(rules []PathRule, ports *Ports) error {
	abi, err := LandlockABI()
	if err != nil {
		return err
	}
	attr := handled(abi)
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return landlockFault(abi, fmt.Errorf("making a Landlock ruleset: %w", err))
	}
	defer unix.Close(fd)
	for i, r := range rules {
		beneath := ll.PathBeneathAttr{ParentFd: r.FD, AllowedAccess: access(r.Rights, r.File)}
		if r.List {
			if r.Rights != 0 || r.File {
				return fmt.Errorf("landlock rule %d: a list rule has rights of its own", i)
			}
			beneath.AllowedAccess = ll.AccessFSReadDir
		}
		if beneath.AllowedAccess == 0 {
			continue // nothing granted; the kernel has no rule for that
		}
		if err := ll.LandlockAddPathBeneathRule(fd, &beneath, 0); err != nil {
			return fmt.Errorf("adding Landlock rule %d (%v): %w", i, r.Rights, err)
		}
	}
	if ports != nil {
		if abi < NetworkABI {
			return landlockFault(abi, fmt.Errorf("the kernel has Landlock ABI %d, %d is needed for a network", abi, NetworkABI)).With(fault.Arg("needed", NetworkABI))
		}
		if err := ports.add(fd); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	if err := ll.LandlockRestrictSelf(fd, 0); err != nil {
		return landlockFault(abi, fmt.Errorf("entering the Landlock domain: %w", err))
	}
	return nil
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
func (p *Ports) add(ruleset int) error {
	put := func(port uint64, access uint64) error {
		if err := ll.LandlockAddNetPortRule(ruleset, &ll.NetPortAttr{AllowedAccess: access, Port: port}, 0); err != nil {
			return fmt.Errorf("adding the Landlock rule of port %d: %w", port, err)
		}
		return nil
	}
	for _, port := range p.Connect {
		if err := put(uint64(port), ll.AccessNetConnectTCP); err != nil {
			return err
		}
	}
	if p.OwnFirst == 0 {
		return nil
	}
	for port := uint64(p.OwnFirst); port <= uint64(p.OwnLast); port++ {
		if err := put(port, ll.AccessNetConnectTCP|ll.AccessNetBindTCP); err != nil {
			return err
		}
	}
	return put(0, ll.AccessNetBindTCP)
}

func landlockFault(abi int, cause error) *fault.Error {
	return fault.New(fault.PreflightMissingPrimitive, fault.Variant("landlock"), fault.Arg("abi", abi), fault.Arg("needed", minABI), fault.Cause(cause))
}
