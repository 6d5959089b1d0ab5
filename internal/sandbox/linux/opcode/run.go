//go:build linux

package opcode

import (
	"syscall"
	"unsafe"
)

// RawRun performs the program of the block at base. errno is 0 when it came to its end; else at is the operation that failed.
// Only a process made by clone, or a locked thread that may be changed, may call it.
//
//go:nosplit
//go:norace
func RawRun(base unsafe.Pointer) (at, errno uintptr) {
	h := (*header)(unsafe.Add(base, Shared))
	for at < uintptr(h.len) {
		o := (*op)(unsafe.Add(base, uintptr(h.ops)+at*opSize))
		errno = rawStep(base, o)
		switch {
		case errno == 0 && o.then == 0:
			at++
		case errno == 0:
			at = uintptr(o.then)
		default:
			to := rawJump(o, errno)
			if to == 0 {
				return at, errno
			}
			at, errno = to, 0
		}
	}
	return at, 0
}

// rawJump is where a failure leads; 0 is nowhere.
//
//go:nosplit
//go:norace
func rawJump(o *op, errno uintptr) uintptr {
	if o.on[0].errno == anyErrno || uintptr(o.on[0].errno) == errno {
		return uintptr(o.on[0].to)
	}
	if o.on[1].errno == anyErrno || uintptr(o.on[1].errno) == errno {
		return uintptr(o.on[1].to)
	}
	if o.on[2].errno == anyErrno || uintptr(o.on[2].errno) == errno {
		return uintptr(o.on[2].to)
	}
	return 0
}

//go:nosplit
//go:norace
func rawStep(base unsafe.Pointer, o *op) (errno uintptr) {
	if o.kind == opCall {
		return rawCall(base, o)
	}
	p := (*uint32)(unsafe.Add(base, uintptr(o.args[0])))
	fail := false
	switch o.kind {
	case opEqual:
		q := unsafe.Add(base, uintptr(o.args[1]))
		for i := uintptr(0); i < uintptr(o.args[2]); i++ {
			fail = fail || *(*byte)(unsafe.Add(unsafe.Pointer(p), i)) != *(*byte)(unsafe.Add(q, i))
		}
	case opMask:
		fail = uint64(*p)&o.args[1] != o.args[2]
	case opCount:
		*p++
		fail = uint64(*p) > o.args[1]
	case opPlace:
		*(*uint64)(unsafe.Pointer(p)) = uint64(uintptr(unsafe.Add(base, uintptr(o.args[1]))))
	case opError:
		if e := int32(*p); e < 0 {
			return uintptr(-e)
		}
	default:
		fail = true
	}
	if fail {
		return uintptr(o.args[3])
	}
	return 0
}

//go:nosplit
//go:norace
func rawCall(base unsafe.Pointer, o *op) uintptr {
	for {
		r, _, errno := syscall.RawSyscall6(uintptr(o.call), rawArg(base, o.kinds, o.args[0]), rawArg(base, o.kinds>>2, o.args[1]),
			rawArg(base, o.kinds>>4, o.args[2]), rawArg(base, o.kinds>>6, o.args[3]), rawArg(base, o.kinds>>8, o.args[4]), rawArg(base, o.kinds>>10, o.args[5]))
		switch {
		case errno == syscall.EINTR:
			continue
		case errno != 0:
			return uintptr(errno)
		case o.want != 0 && r != uintptr(o.want)-1:
			return uintptr(syscall.EIO)
		case o.into != 0:
			*(*int32)(unsafe.Add(base, uintptr(o.into))) = int32(r)
		}
		return 0
	}
}

//go:nosplit
//go:norace
func rawArg(base unsafe.Pointer, kind uint16, v uint64) uintptr {
	switch kind & 3 {
	case argAddr:
		return uintptr(unsafe.Add(base, uintptr(v)))
	case argLoad:
		return uintptr(*(*int32)(unsafe.Add(base, uintptr(v))))
	}
	return uintptr(v)
}
