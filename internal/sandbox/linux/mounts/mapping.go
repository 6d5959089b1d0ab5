//go:build linux

package mounts

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// Mappings makes the user namespaces that idmapped mounts take their mapping from. It keeps one per owner: making one
// costs a process. Safe for concurrent use.
type Mappings struct {
	// Program is any executable file; it is started but never runs an instruction.
	Program string
	// UID and GID are the host ids that the owner of a mount's files becomes.
	UID, GID int

	mu   sync.Mutex
	made map[[2]uint32]*os.File
}

// For returns the namespace that maps the owner of source, in both directions: his files show as the sandbox user's, and
// what the sandbox's user creates belongs to him. Files of anyone else show as nobody's. The file stays the Mappings'.
func (m *Mappings) For(source *os.File) (*os.File, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(source.Fd()), &st); err != nil {
		return nil, wire.Fail(wire.StageSource, source.Name(), err)
	}
	owner := [2]uint32{st.Uid, st.Gid}
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.made[owner]; f != nil {
		return f, nil
	}
	f, err := m.make(int(st.Uid), int(st.Gid))
	if err != nil {
		return nil, err
	}
	if m.made == nil {
		m.made = map[[2]uint32]*os.File{}
	}
	m.made[owner] = f
	return f, nil
}

// make starts a process in a new user namespace, stopped at its exec, opens the namespace and kills the process.
func (m *Mappings) make(uid, gid int) (*os.File, error) {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	pid, err := syscall.ForkExec(m.Program, []string{"sekisho-id-mapping"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: m.UID, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: m.GID, Size: 1}},
		Ptrace:      true,
		Pdeathsig:   syscall.SIGKILL,
	}})
	if err != nil {
		// Whatever keeps a sandbox from getting a user namespace.
		return nil, wire.Fail(wire.StageClone, m.Program, fmt.Errorf("starting a process in a new user namespace: %w", err))
	}
	defer reap(pid)
	defer syscall.Kill(pid, syscall.SIGKILL)
	var status syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if err != nil || !status.Stopped() {
		return nil, wire.Fail(wire.StageStop, m.Program, fmt.Errorf("waiting for the exec stop: status %#x: %w", uint32(status), err))
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", pid))
	if err != nil {
		return nil, wire.Fail(wire.StageIDMap, m.Program, err)
	}
	return f, nil
}

func reap(pid int) {
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}
