//go:build linux

package wire

// Expect is what an executable must be, by the kernel's own word at the exec stop, to run without being hashed again: the very
// object, unchanged since its bytes were last proven. A change of bytes, mode, owner or links moves the change time, which
// nobody can set. PID 1 compares every member and knows nothing else; whether there is an expectation at all is the broker's
// decision. It is an array of numbers in memory, in this order.
type Expect struct {
	Dev, Ino            uint64 // of stat(2): device as one number
	Size                uint64 // bytes
	Mode                uint64 // type and permission bits
	MtimeSec, MtimeNsec uint64
	CtimeSec, CtimeNsec uint64
}
