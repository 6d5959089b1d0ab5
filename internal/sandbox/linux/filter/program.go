//go:build linux

package filter

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/opcode"
	"sekisho/internal/sandbox/linux/wire"
)

// Program is an assembled filter. It is immutable and safe for concurrent use.
type Program struct{ filter []unix.SockFilter }

const maxInstructions = 4096 // BPF_MAXINSNS

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

// Install writes what puts the filter on the thread that runs it, which has no_new_privs and is restricted for the rest of its
// life. notify is where the listener for forks then is: until another process serves it with Forks, every fork of the
// thread waits; once it is closed everywhere, every fork fails with ENOSYS.
func (p *Program) Install(to *opcode.Builder) (notify opcode.Ref) {
	to.For(wire.StageSeccomp, "")
	var code []byte
	for _, f := range p.filter {
		code = binary.NativeEndian.AppendUint16(code, f.Code)
		code = append(code, f.Jt, f.Jf)
		code = binary.NativeEndian.AppendUint32(code, f.K)
	}
	// struct sock_fprog: the number of instructions and, after a gap, their address.
	fprog := to.Words(uint64(len(p.filter)), 0)
	to.Place(fprog+8, to.Bytes(code))
	notify = to.Slot()
	done := to.NewLabel()
	install := func(flags int) opcode.Op {
		return to.Call(unix.SYS_SECCOMP, opcode.Int(unix.SECCOMP_SET_MODE_FILTER), opcode.Int(flags), opcode.At(fprog)).Into(notify)
	}
	// While its notification is being answered, a thread should only be interrupted by death: any other signal would
	// make it ask again and be counted twice. Kernels before 5.19 do not know the flag.
	older := to.NewLabel()
	install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV).Then(done).On(unix.EINVAL, older)
	to.Mark(older)
	install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	to.Mark(done)
	return notify
}

// CallName is the name of a system call of this architecture.
func CallName(number int) string {
	table, err := arch.GetInfo("")
	if err == nil {
		if name, ok := table.SyscallNumbers[number]; ok {
			return name
		}
	}
	return fmt.Sprint("system call ", number)
}
