//go:build linux

package opcode

import "unsafe"

// Shared is the size of the shared memory at the start of a block, in bytes; the image follows it.
const Shared = 8 << 20

// Ref is a place in a block: its distance from the start, in bytes.
type Ref uint32

// header begins an image.
type header struct {
	magic    uint32
	size     uint32 // of the image
	ops, len uint32 // where the operations begin, from the start of the block, and how many there are
	passed   uint32 // where the numbers of the passed descriptors are, int32 each
	count    uint32 // how many
	params   uint32 // where the parameters are, uint64 each
	values   uint32 // how many
}

const magic = 0x5e1c5a0d

// Begin is the first place of an image that is not its header.
const Begin = Shared + Ref(unsafe.Sizeof(header{}))

// op is one operation, in the image as in memory.
type op struct {
	kind  uint16
	call  uint16 // the number of a system call
	kinds uint16 // two bits for each argument: see argConst
	then  uint16 // the operation after success; 0 is the next one
	into  uint32 // where a result goes, as an int32; 0 is nowhere
	want  uint32 // the only result that is a success, plus one; 0 takes any
	on    [3]jump
	_     uint32
	args  [6]uint64
}

// jump goes on with another operation after a failure.
type jump struct{ errno, to uint16 }

// anyErrno matches every failure; no jump has the errno 0.
const anyErrno = 0xffff

const opSize = unsafe.Sizeof(op{})

// The kinds of operations.
const (
	opCall  = iota // a system call
	opEqual        // fails with args[3] unless args[2] bytes at args[0] and args[1] are equal
	opMask         // fails with args[3] unless the uint32 at args[0], of which the bits args[1] count, is args[2]
	opCount        // adds one to the uint32 at args[0]; fails with args[3] when that makes it greater than args[1]
	opPlace        // writes the address of args[1] to the 8 bytes at args[0]
	opError        // fails with the negative int32 at args[0], if it is one
	opFail         // fails with args[3]
)

// The kinds of arguments.
const (
	argConst = iota
	argAddr  // the address of a place
	argLoad  // the int32 there
)

// Arg is an argument of a system call.
type Arg struct {
	kind  uint16
	value uint64
}

// Int is a number.
func Int[T ~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64 | ~uintptr](v T) Arg {
	return Arg{argConst, uint64(v)}
}

// At is the address of a place.
func At(r Ref) Arg { return Arg{argAddr, uint64(r)} }

// Value is what an earlier operation put at a place: an int32, such as a descriptor.
func Value(r Ref) Arg { return Arg{argLoad, uint64(r)} }
