//go:build linux

package linux

import (
	"fmt"
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
var capabilities = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_SETPCAP, unix.CAP_KILL, unix.CAP_SYS_RESOURCE,
	unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_CHROOT, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE}

// attributes start PID 1 in its namespaces; the cgroup namespace follows from inside.
//
// CLONE_VM and CLONE_VFORK are asked for by hand. Without them the whole address space of this process is copied, which
// costs more than all namespaces together and grows with the heap; syscall leaves them out for a new user namespace only
// because it writes the id maps before the exec. Here they are written after it (mapIDs): PID 1 keeps its capabilities over
// the exec by the ambient set, and waits for its setup before it uses any.
func (id identity) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_VM | syscall.CLONE_VFORK,
		AmbientCaps: capabilities,
		Setsid:      true,
	}
}

// mapIDs gives the user namespace of a process its one user and one group. An ordinary user must first forbid setgroups,
// which could drop a group that denies access; root's PID 1 uses it, to drop root's groups.
func (id identity) mapIDs(pid int) error {
	writes := [][2]string{
		{"uid_map", fmt.Sprintf("%d %d 1\n", id.in, id.uid)},
		{"gid_map", fmt.Sprintf("%d %d 1\n", id.inG, id.gid)},
	}
	if !id.root {
		writes = append([][2]string{{"setgroups", "deny\n"}}, writes...)
	}
	for _, w := range writes {
		f, err := os.OpenFile(fmt.Sprintf("/proc/%d/%s", pid, w[0]), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(w[1])
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
