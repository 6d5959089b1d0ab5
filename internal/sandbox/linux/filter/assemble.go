//go:build linux

package filter

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// action is what the kernel does with a system call: a SECCOMP_RET_ value.
type action uint32

const (
	allow  action = unix.SECCOMP_RET_ALLOW
	notify action = unix.SECCOMP_RET_USER_NOTIF
	kill   action = unix.SECCOMP_RET_KILL_PROCESS
)

func refuse(e unix.Errno) action { return action(unix.SECCOMP_RET_ERRNO) | action(e) }

// rule decides one system call: the first clause whose conditions all hold, else the last action.
type rule struct {
	clauses   []clause
	otherwise action
}

type clause struct {
	when []cond
	then action
}

// cond compares one half of an argument after masking: it holds when the result is one of values, or none if not.
type cond struct {
	arg    int
	high   bool
	mask   uint32
	values []uint32
	not    bool
}

// is compares the low 32 bits, which is all that the kernel reads of an int, unsigned int or pid_t argument.
func is(arg int, values ...uint32) cond { return cond{arg: arg, mask: math.MaxUint32, values: values} }

func isNot(arg int, values ...uint32) cond {
	return cond{arg: arg, mask: math.MaxUint32, values: values, not: true}
}

// masked compares some of the low 32 bits.
func masked(arg int, mask uint32, values ...uint32) cond {
	return cond{arg: arg, mask: mask, values: values}
}

// has holds when any of bits is set in the low half.
func has(arg int, bits uint32) cond {
	return cond{arg: arg, mask: bits, values: []uint32{0}, not: true}
}

// highZero holds when the upper half is zero; needed only for arguments that the kernel reads as 64 bits.
func highZero(arg int) cond {
	return cond{arg: arg, high: true, mask: math.MaxUint32, values: []uint32{0}}
}

// The layout of struct seccomp_data on little-endian machines; both supported architectures are.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

var errTooFar = errors.New("condition too long for a BPF jump")

// code turns one condition into instructions that fall through to rest when it holds and jump past rest when not.
func (c cond) code(rest []bpf.Instruction) ([]bpf.Instruction, error) {
	off := uint32(offArgs + 8*c.arg)
	if c.high {
		off += 4
	}
	out := []bpf.Instruction{bpf.LoadAbsolute{Off: off, Size: 4}}
	if c.mask != math.MaxUint32 {
		out = append(out, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask})
	}
	for i, v := range c.values {
		left := len(c.values) - 1 - i
		skip := left + 1 // over the other values and the jump that means "none of them"
		if c.not {
			skip = left + len(rest)
		}
		if skip > math.MaxUint8 {
			return nil, errTooFar
		}
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(skip)})
	}
	if !c.not {
		out = append(out, bpf.Jump{Skip: uint32(len(rest))})
	}
	return append(out, rest...), nil
}

func (r rule) code() ([]bpf.Instruction, error) {
	var out []bpf.Instruction
	for _, cl := range r.clauses {
		body := []bpf.Instruction{ret(cl.then)}
		for _, c := range slices.Backward(cl.when) {
			var err error
			if body, err = c.code(body); err != nil {
				return nil, err
			}
		}
		out = append(out, body...)
	}
	return append(out, ret(r.otherwise)), nil
}

func ret(a action) bpf.Instruction { return bpf.RetConstant{Val: uint32(a)} }

// segment is a run of system call numbers, from start to the next segment's, that share their code.
type segment struct {
	start uint32
	code  []bpf.Instruction
}

// assemble builds the whole program: the architecture guard first (a 32-bit entry has other numbers, so judging it by
// these would judge another system call), then a binary search over the numbers. Numbers above last do not exist for
// the tables this was built from: ENOSYS, so that a C library falls back; that also covers x32 (bit 30) and -1.
func assemble(auditArch, last uint32, rules map[uint32]rule, otherwise action) ([]bpf.Instruction, error) {
	var segments []segment
	add := func(start uint32, code []bpf.Instruction) {
		if n := len(segments); n > 0 && slices.Equal(segments[n-1].code, code) {
			return
		}
		segments = append(segments, segment{start, code})
	}
	next := uint32(0)
	for _, nr := range slices.Sorted(maps.Keys(rules)) {
		if nr > last {
			return nil, fmt.Errorf("system call %d lies above the last known one, %d", nr, last)
		}
		if nr > next {
			add(next, []bpf.Instruction{ret(otherwise)})
		}
		code, err := rules[nr].code()
		if err != nil {
			return nil, fmt.Errorf("system call %d: %w", nr, err)
		}
		add(nr, code)
		next = nr + 1
	}
	if next <= last {
		add(next, []bpf.Instruction{ret(otherwise)})
	}
	add(last+1, []bpf.Instruction{ret(refuse(unix.ENOSYS))})
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		ret(kill),
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
	}
	return append(program, search(segments)...), nil
}

// search is a balanced decision tree over the segments, with the number in the accumulator.
func search(s []segment) []bpf.Instruction {
	if len(s) == 1 {
		return s[0].code
	}
	mid := len(s) / 2
	low, high := search(s[:mid]), search(s[mid:])
	var out []bpf.Instruction
	if len(low) <= math.MaxUint8 {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: s[mid].start, SkipTrue: uint8(len(low))})
	} else {
		out = append(out,
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: s[mid].start, SkipFalse: 1},
			bpf.Jump{Skip: uint32(len(low))})
	}
	return append(append(out, low...), high...)
}
