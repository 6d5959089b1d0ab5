package linux

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// reservedID is the host user and group id of a payload when the server is root: above every range that distributions,
// systemd and container tools hand out, below the sign bit. Host uid 0 is never mapped: a process without capabilities
// but with kernel uid 0 could still write the host's core_pattern.
const reservedID = 2147450881

// insideID is what such a payload sees as its own id.
const insideID = 1000

// identity is who runs the server and, from that, who a payload is.
type identity struct {
	root     bool
	uid, gid int // host ids of the payload
	in, inG  int // the same inside
}

func whoami() identity {
	if os.Geteuid() == 0 {
		return identity{root: true, uid: reservedID, gid: reservedID, in: insideID, inG: insideID}
	}
	uid, gid := os.Geteuid(), os.Getegid()
	return identity{uid: uid, gid: gid, in: uid, inG: gid}
}

// capabilities are what PID 1 needs, all of them over its own namespaces only.
var capabilities = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_SETPCAP, unix.CAP_KILL, unix.CAP_SYS_RESOURCE, unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_CHROOT}

// attributes start PID 1 in its namespaces; the cgroup namespace follows once PID 1 is in its cgroup.
func (id identity) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: id.in, HostID: id.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: id.inG, HostID: id.gid, Size: 1}},
		AmbientCaps: capabilities,
		Setsid:      true,
	}
	if id.root {
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: uint32(id.in), Gid: uint32(id.inG), Groups: []uint32{}}
	}
	return attr
}
