//go:build linux

package opcode

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// MaxImage bounds an image, in bytes.
const MaxImage = 16 << 20

// Block is the memory of one program, mapped into this process.
type Block struct {
	base unsafe.Pointer
	size uintptr
}

// Map maps the image in a file, privately, behind new shared memory, and checks that nothing in it leads out of the block.
func Map(image *os.File) (*Block, error) {
	st, err := image.Stat()
	if err != nil {
		return nil, fmt.Errorf("mapping a program: %w", err)
	}
	if st.Size() < int64(unsafe.Sizeof(header{})) || st.Size() > MaxImage {
		return nil, errImage
	}
	b, err := reserve(uintptr(st.Size()))
	if err != nil {
		return nil, err
	}
	at := unsafe.Add(b.base, Shared)
	if _, err = unix.MmapPtr(int(image.Fd()), 0, at, uintptr(st.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_POPULATE); err != nil {
		err = fmt.Errorf("mapping a program: %w", err)
	} else {
		err = b.check(uint64(st.Size()))
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func reserve(image uintptr) (*Block, error) {
	size := Shared + image
	base, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("making the memory of a program: %w", err)
	}
	return &Block{base, size}, nil
}

// Close unmaps the block from this process.
func (b *Block) Close() error { return unix.MunmapPtr(b.base, b.size) }

// Base is where the block begins.
func (b *Block) Base() unsafe.Pointer { return b.base }

// Word is the uint32 at a place of the shared memory.
func (b *Block) Word(at Ref) *uint32 { return (*uint32)(unsafe.Add(b.base, at)) }

// Give fills in the passed descriptors and the values.
func (b *Block) Give(descriptors []int, values []uint64) error {
	h := (*header)(unsafe.Add(b.base, Shared))
	if len(descriptors) != int(h.count) || len(values) != int(h.values) {
		return fmt.Errorf("a program for %d descriptors and %d values got %d and %d", h.count, h.values, len(descriptors), len(values))
	}
	for i, fd := range descriptors {
		*(*int32)(unsafe.Add(b.base, uintptr(h.passed)+uintptr(4*i))) = int32(fd)
	}
	for i, v := range values {
		*(*uint64)(unsafe.Add(b.base, uintptr(h.params)+uintptr(8*i))) = v
	}
	return nil
}

var errImage = errors.New("not the image of a program")

// check reads the image like any input: what its operations write and where they jump lies inside.
func (b *Block) check(size uint64) error {
	h := (*header)(unsafe.Add(b.base, Shared))
	end := Shared + size
	within := func(at, n uint64) bool { return at >= uint64(Begin) && at <= end && n <= end-at }
	if h.magic != magic || uint64(h.size) != size || !within(uint64(h.ops), uint64(h.len)*uint64(opSize)) || h.ops%8 != 0 || h.len >= anyErrno ||
		h.count > 0 && !within(uint64(h.passed), 4*uint64(h.count)) || h.values > 0 && !within(uint64(h.params), 8*uint64(h.values)) {
		return errImage
	}
	for i := range uint64(h.len) {
		o := (*op)(unsafe.Add(b.base, uint64(h.ops)+i*uint64(opSize)))
		if err := o.check(uint64(h.len), end, within); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return nil
}

func (o *op) check(ops, end uint64, within func(at, n uint64) bool) error {
	ok := o.kind <= opFail && uint64(o.then) <= ops && (o.into == 0 || within(uint64(o.into), 4))
	for _, j := range o.on {
		ok = ok && uint64(j.to) <= ops
	}
	switch o.kind {
	case opCall:
		for i, v := range o.args {
			kind := o.kinds >> (2 * i) & 3
			ok = ok && kind <= argLoad && (kind != argAddr || v < end) && (kind != argLoad || within(v, 4))
		}
	case opEqual:
		ok = ok && within(o.args[0], o.args[2]) && within(o.args[1], o.args[2])
	case opMask, opCount, opError:
		ok = ok && within(o.args[0], 4)
	case opPlace:
		ok = ok && within(o.args[0], 8) && o.args[1] < end
	default:
		ok = ok && o.args[0] == 0
	}
	if o.kind != opCall && o.kind != opPlace && o.kind != opError {
		ok = ok && o.args[3] > 0 && o.args[3] < 4096
	}
	if !ok {
		return errImage
	}
	return nil
}

// File is the image in a memory file that nobody can change any more.
func (p *Image) File() (*os.File, error) { return wire.MemoryFile("sandbox program", p.Bytes) }
