//go:build linux

package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
)

// Program is an assembled filter. It is immutable and safe for concurrent use.
type Program struct{ filter []unix.SockFilter }

const (
	instructionSize = 8    // struct sock_filter
	maxInstructions = 4096 // BPF_MAXINSNS
)

var errProgram = errors.New("not an assembled filter")

// Build assembles the filter of s. It is pure; a policy needs it once.
func Build(s Spec) (*Program, error) {
	instructions, err := instructions(s)
	if err != nil {
		return nil, fmt.Errorf("assembling the system call filter: %w", err)
	}
	raw, err := bpf.Assemble(instructions)
	if err != nil {
		return nil, fmt.Errorf("assembling the system call filter: %w", err)
	}
	if len(raw) > maxInstructions {
		return nil, fmt.Errorf("assembling the system call filter: %d instructions, the kernel takes %d", len(raw), maxInstructions)
	}
	p := &Program{make([]unix.SockFilter, len(raw))}
	for i, r := range raw {
		p.filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return p, nil
}

func instructions(s Spec) ([]bpf.Instruction, error) {
	if s.Arch == "" {
		s.Arch = runtime.GOARCH
	}
	var table *arch.Info
	switch s.Arch {
	case "amd64":
		table = arch.X86_64
	case "arm64":
		table = arch.AARCH64
	default:
		return nil, fmt.Errorf("no table of system calls for %q", s.Arch)
	}
	last := 0
	for nr := range table.SyscallNumbers {
		last = max(last, nr)
	}
	rules := map[uint32]rule{}
	put := func(name string, r rule) error {
		nr, ok := table.SyscallNames[name]
		if !ok {
			if _, amd64 := arch.X86_64.SyscallNames[name]; !amd64 {
				return fmt.Errorf("no system call is called %q", name)
			}
			return nil // one of those that only amd64 kept
		}
		if _, twice := rules[uint32(nr)]; twice {
			return fmt.Errorf("system call %q is listed twice", name)
		}
		rules[uint32(nr)] = r
		return nil
	}
	for _, name := range allowed {
		if err := put(name, rule{otherwise: allow}); err != nil {
			return nil, err
		}
	}
	code := memfdHere
	if s.NoMemoryPrograms {
		code = memfd
	}
	if err := put("memfd_create", code); err != nil {
		return nil, err
	}
	socket := rule{otherwise: eperm}
	if s.Network {
		socket = sockets
	}
	if err := put("socket", socket); err != nil {
		return nil, err
	}
	for name, r := range conditional {
		if err := put(name, r); err != nil {
			return nil, err
		}
	}
	return assemble(uint32(table.ID), uint32(last), rules, eperm)
}

// Load returns the program that Bytes returned elsewhere, so that the broker assembles and PID 1 only installs. The
// kernel checks the instructions; Load checks only that they are whole and few enough.
func Load(b []byte) (*Program, error) {
	if len(b) == 0 || len(b)%instructionSize != 0 || len(b)/instructionSize > maxInstructions {
		return nil, errProgram
	}
	p := &Program{make([]unix.SockFilter, len(b)/instructionSize)}
	for i := range p.filter {
		at := b[i*instructionSize:]
		p.filter[i] = unix.SockFilter{Code: binary.NativeEndian.Uint16(at), Jt: at[2], Jf: at[3], K: binary.NativeEndian.Uint32(at[4:])}
	}
	return p, nil
}

// Bytes is the program as the kernel's struct sock_filter array in native byte order.
func (p *Program) Bytes() []byte {
	b := make([]byte, 0, len(p.filter)*instructionSize)
	for _, f := range p.filter {
		b = binary.NativeEndian.AppendUint16(b, f.Code)
		b = append(b, f.Jt, f.Jf)
		b = binary.NativeEndian.AppendUint32(b, f.K)
	}
	return b
}

// Install sets no_new_privs and puts the filter on the calling thread, which must be locked (runtime.LockOSThread) and is
// restricted for the rest of its life. notify is the listener for forks: until another process serves it with
// ServeForks, every fork of this thread waits; once it is closed everywhere, every fork fails with ENOSYS. The failure is
// fault.PreflightMissingPrimitive, variant seccomp.
func (p *Program) Install() (notify *os.File, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("setting no_new_privs: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(p.filter)), Filter: &p.filter[0]}
	// While its notification is being answered, a thread should only be interrupted by death: any other signal would
	// make it ask again and be counted twice. Kernels before 5.19 do not know the flag.
	var fd uintptr
	for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER} {
		var errno unix.Errno
		fd, _, errno = unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
		if errno == 0 {
			return os.NewFile(fd, "seccomp listener"), nil
		}
		if err = errno; errno != unix.EINVAL {
			break
		}
	}
	return nil, fault.New(fault.PreflightMissingPrimitive, fault.Variant("seccomp"),
		fault.Cause(fmt.Errorf("installing the system call filter: %w", err)))
}
