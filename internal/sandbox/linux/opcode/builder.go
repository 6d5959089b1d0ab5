//go:build linux

package opcode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"sekisho/internal/sandbox/linux/wire"
)

// Builder writes a program. Its zero value is empty and ready. What it is asked for is remembered, and what is wrong with it is
// Image's error.
type Builder struct {
	data   []byte // from Begin on
	ops    []op
	marks  []uint16 // where labels are; 0 is nowhere yet
	what   What
	whats  []What // of each operation
	texts  map[string]Ref
	passed int
	values int
	table  Ref // of the passed descriptors
	params Ref
	err    error
}

// New returns a Builder with room for so many bytes and operations; it grows beyond that.
func New(bytes, operations int) *Builder {
	return &Builder{data: make([]byte, 0, bytes), ops: make([]op, 0, operations), whats: make([]What, 0, operations)}
}

// What tells what an operation is for, for the report of its failure.
type What struct {
	Stage  wire.Stage
	Target string
	// Call is the number of the system call, or -1.
	Call int
	// Err replaces the kernel's word, when it is not nil.
	Err error
}

// Label is a place among the operations. The zero value is the end of the program.
type Label int

// Reserve takes memory from the image: zero, unless it is written by Put, and aligned to 8 bytes.
func (b *Builder) Reserve(size int) Ref {
	for len(b.data)%8 != 0 {
		b.data = append(b.data, 0)
	}
	at := Begin + Ref(len(b.data))
	b.data = append(b.data, make([]byte, size)...)
	return at
}

// Put writes the initial content of a place.
func (b *Builder) Put(at Ref, content []byte) { copy(b.data[at-Begin:], content) }

// Bytes is a place with content.
func (b *Builder) Bytes(content []byte) Ref {
	at := b.Reserve(max(len(content), 1))
	b.Put(at, content)
	return at
}

// Words is a place with numbers of 8 bytes.
func (b *Builder) Words(words ...uint64) Ref {
	var content []byte
	for _, w := range words {
		content = binary.NativeEndian.AppendUint64(content, w)
	}
	return b.Bytes(content)
}

// Text is the address of a string that ends with a zero byte. Equal ones share their place.
func (b *Builder) Text(s string) Arg {
	for i := range len(s) {
		if s[i] == 0 {
			b.fail(fmt.Errorf("%q cannot be given to the kernel", s))
		}
	}
	at, known := b.texts[s]
	if !known {
		at = b.Bytes(append([]byte(s), 0))
		if b.texts == nil {
			b.texts = map[string]Ref{}
		}
		b.texts[s] = at
	}
	return At(at)
}

// Slot is a place for one result.
func (b *Builder) Slot() Ref { return b.Reserve(4) }

// Passed declares descriptors that come with the program, and values that whoever starts it fills in, once and before
// anything else.
func (b *Builder) Passed(count, values int) {
	b.passed, b.values = count, values
	b.table, b.params = b.Reserve(4*count), b.Reserve(8*values)
}

// Descriptor is a passed one.
func (b *Builder) Descriptor(i int) Arg {
	if i < 0 || i >= b.passed {
		b.fail(fmt.Errorf("descriptor %d is not handed over", i))
	}
	return Value(b.table + Ref(4*i))
}

// Param is the place of a value that is filled in.
func (b *Builder) Param(i int) Ref { return b.params + Ref(8*i) }

// For tells what the next operations are for.
func (b *Builder) For(stage wire.Stage, target string) { b.what = What{Stage: stage, Target: target} }

// NewLabel makes a label that Mark places.
func (b *Builder) NewLabel() Label {
	b.marks = append(b.marks, 0)
	return Label(len(b.marks))
}

// Mark places a label before the next operation.
func (b *Builder) Mark(l Label) { b.marks[l-1] = uint16(len(b.ops)) }

// Op is an operation that was just added; its methods refine it.
type Op struct {
	b *Builder
	i int
}

func (b *Builder) add(o op, what What) Op {
	if len(b.ops) == 0 && o.kind != opPlace {
		// Nothing jumps to the first operation: 0 means no jump.
		b.add(op{kind: opPlace, args: [6]uint64{uint64(b.Reserve(8)), 0}}, What{Call: -1})
	}
	b.ops, b.whats = append(b.ops, o), append(b.whats, what)
	return Op{b, len(b.ops) - 1}
}

func (b *Builder) here(call int) What {
	w := b.what
	w.Call = call
	return w
}

// Call adds a system call.
func (b *Builder) Call(number uintptr, args ...Arg) Op {
	o := op{kind: opCall, call: uint16(number)}
	for i, a := range args {
		o.args[i] = a.value
		o.kinds |= a.kind << (2 * i)
	}
	return b.add(o, b.here(int(number)))
}

// Equal requires that two places hold the same bytes.
func (b *Builder) Equal(x, y Ref, size int, otherwise syscall.Errno) Op {
	return b.add(op{kind: opEqual, args: [6]uint64{uint64(x), uint64(y), uint64(size), uint64(otherwise)}}, b.here(-1))
}

// Mask requires that those bits of the uint32 at a place have that value.
func (b *Builder) Mask(at Ref, bits, value uint32, otherwise syscall.Errno) Op {
	return b.add(op{kind: opMask, args: [6]uint64{uint64(at), uint64(bits), uint64(value), uint64(otherwise)}}, b.here(-1))
}

// Count adds one to the uint32 at a place and fails, to be caught, when it becomes greater than most.
func (b *Builder) Count(at Ref, most uint32) Op {
	return b.add(op{kind: opCount, args: [6]uint64{uint64(at), uint64(most), 0, uint64(syscall.ERANGE)}}, b.here(-1))
}

// Place writes the address of a place to another one.
func (b *Builder) Place(at, of Ref) Op {
	return b.add(op{kind: opPlace, args: [6]uint64{uint64(at), uint64(of)}}, b.here(-1))
}

// Error fails with the negative error number at a place, if it is one.
func (b *Builder) Error(at Ref) Op {
	return b.add(op{kind: opError, args: [6]uint64{uint64(at)}}, b.here(-1))
}

// Fail ends the program; the report says err.
func (b *Builder) Fail(err error) {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		errno = syscall.ECANCELED
	}
	w := b.here(-1)
	w.Err = err
	b.add(op{kind: opFail, args: [6]uint64{0, 0, 0, uint64(errno)}}, w)
}

// Into puts the result at a place, as an int32.
func (o Op) Into(at Ref) Op { o.b.ops[o.i].into = uint32(at); return o }

// Exactly takes no other result.
func (o Op) Exactly(n int) Op { o.b.ops[o.i].want = uint32(n) + 1; return o }

// Then goes on there after success.
func (o Op) Then(l Label) Op { o.b.ops[o.i].then = uint16(l); return o }

// On goes on there after that failure, 0 meaning any; at most three.
func (o Op) On(errno syscall.Errno, l Label) Op {
	j := jump{uint16(errno), uint16(l)}
	if errno == 0 {
		j.errno = anyErrno
	}
	for i := range o.b.ops[o.i].on {
		if at := &o.b.ops[o.i].on[i]; at.errno == 0 {
			*at = j
			return o
		}
	}
	o.b.fail(errors.New("an operation with too many failures that go on"))
	return o
}

// Accept takes failures for a success.
func (o Op) Accept(errnos ...syscall.Errno) Op {
	l := o.b.NewLabel()
	o.b.Mark(l)
	for _, e := range errnos {
		o.On(e, l)
	}
	return o
}

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Image is a finished program. It is immutable.
type Image struct {
	Bytes []byte
	Whats []What
	// Passed is how many descriptors come with it.
	Passed int
}

// Image finishes the program; the Builder is not used any more.
func (b *Builder) Image() (*Image, error) {
	if len(b.ops) >= anyErrno {
		b.fail(errors.New("a program of too many operations"))
	}
	resolve := func(to *uint16) {
		if *to == 0 {
			return
		}
		if *to = b.marks[*to-1]; *to == 0 {
			b.fail(errors.New("a label that was not placed"))
		}
	}
	for i := range b.ops {
		resolve(&b.ops[i].then)
		for j := range b.ops[i].on {
			resolve(&b.ops[i].on[j].to)
		}
	}
	if b.err != nil {
		return nil, fmt.Errorf("building PID 1: %w", b.err)
	}
	at := b.Reserve(len(b.ops) * int(opSize))
	if len(b.ops) > 0 {
		b.Put(at, unsafe.Slice((*byte)(unsafe.Pointer(&b.ops[0])), len(b.ops)*int(opSize)))
	}
	h := header{magic: magic, size: uint32(Begin) - Shared + uint32(len(b.data)), ops: uint32(at), len: uint32(len(b.ops)),
		passed: uint32(b.table), count: uint32(b.passed), params: uint32(b.params), values: uint32(b.values)}
	bytes := append(unsafe.Slice((*byte)(unsafe.Pointer(&h)), unsafe.Sizeof(h)), b.data...)
	return &Image{Bytes: bytes, Whats: b.whats, Passed: b.passed}, nil
}

// Failure describes what operation at met; name turns the number of a system call into its name.
func (p *Image) Failure(at int, errno syscall.Errno, name func(int) string) *wire.Failed {
	if at < 0 || at >= len(p.Whats) {
		return &wire.Failed{Stage: wire.StageNamespace, Errno: int(errno), Detail: fmt.Sprintf("operation %d: %v", at, errno)}
	}
	w := p.Whats[at]
	var err error = errno
	switch {
	case w.Err != nil:
		err = w.Err
	case w.Call >= 0:
		err = fmt.Errorf("%s: %w", name(w.Call), errno)
	}
	return wire.Fail(w.Stage, w.Target, err)
}
