//go:build linux

package wire

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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

// ExpectOf reads it from an open file.
func ExpectOf(f *os.File) (Expect, error) {
	var st unix.Stat_t
	raw, err := f.SyscallConn()
	if err != nil {
		return Expect{}, err
	}
	var failure error
	if err = raw.Control(func(fd uintptr) { failure = unix.Fstat(int(fd), &st) }); err == nil {
		err = failure
	}
	if err != nil {
		return Expect{}, fmt.Errorf("describing %s: %w", f.Name(), err)
	}
	return Expect{Dev: uint64(st.Dev), Ino: st.Ino, Size: uint64(st.Size), Mode: uint64(st.Mode),
		MtimeSec: uint64(st.Mtim.Sec), MtimeNsec: uint64(st.Mtim.Nsec), CtimeSec: uint64(st.Ctim.Sec), CtimeNsec: uint64(st.Ctim.Nsec)}, nil
}
