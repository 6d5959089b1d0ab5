//go:build linux

package initproc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/wire"
)

// rights is the second word of a control message that carries descriptors: its level and type, 4 bytes each.
const rights = unix.SOL_SOCKET | unix.SCM_RIGHTS<<32

// controlHead is the size of its head, in bytes.
const controlHead = 16

// rawSend sends one reply, with a descriptor unless that is negative. When nobody hears it, the process ends.
//
//go:nosplit
//go:norace
func rawSend(s *state, kind wire.Kind, a, b, c uint32, fd int32) {
	s.reply.Kind, s.reply.A, s.reply.B, s.reply.C = kind, a, b, c
	rawMessage(s, uintptr(unsafe.Pointer(&s.reply)), unsafe.Sizeof(s.reply))
	if fd >= 0 {
		s.control[0], s.control[1], s.control[2] = controlHead+4, rights, uint64(uint32(fd))
		s.msg.control, s.msg.controls = uint64(uintptr(unsafe.Pointer(&s.control))), controlHead+8
	}
	for {
		_, _, errno := syscall.RawSyscall6(unix.SYS_SENDMSG, socket, uintptr(unsafe.Pointer(&s.msg)), unix.MSG_NOSIGNAL, 0, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			rawExit(0)
		}
		return
	}
}

// rawMessage prepares s.msg for memory, without control messages.
//
//go:nosplit
//go:norace
func rawMessage(s *state, at, size uintptr) {
	s.iov[0], s.iov[1] = uint64(at), uint64(size)
	s.msg.iov, s.msg.iovs = uint64(uintptr(unsafe.Pointer(&s.iov))), 1
	s.msg.control, s.msg.controls = 0, 0
}

// rawReceive waits for one packet in the memory that s.msg names; 0 means that the broker is gone.
//
//go:nosplit
//go:norace
func rawReceive(s *state) uintptr {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVMSG, socket, uintptr(unsafe.Pointer(&s.msg)), unix.MSG_CMSG_CLOEXEC, 0, 0, 0)
		switch errno {
		case 0:
			return n
		case syscall.EINTR:
		default:
			return 0
		}
	}
}

//go:nosplit
//go:norace
func rawExit(code uintptr) {
	for {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, code, 0, 0, 0, 0, 0)
	}
}
