//go:build linux

package wire

import (
	"encoding/binary"
	"errors"
	"strings"
	"syscall"
	"unsafe"
)

// The first number of each packet to PID 1.
const (
	StartPacket   = 0x74617473
	ReleasePacket = 0x656c6572
)

// StartHeader begins a Start in memory. Places are distances from its beginning, in bytes. Argv and Env are tables of such
// places, 8 bytes each, which end with a zero; Scripts is one of numbers of 4 bytes. Strings end with a zero byte, and so
// does the whole.
type StartHeader struct {
	Packet              uint32
	Size                uint32 // of everything
	Flags               uint32
	Argc, Envc, Scripts uint32
	Path, Dir           uint32
	Argv, Env, Script   uint32
	_                   uint32
	Expect              Expect
}

// The flags of a StartHeader.
const (
	// Expecting: Expect counts.
	Expecting = 1 << iota
	// Elsewhere: the packet holds the header only, and everything, the header included, is in a file, the fourth descriptor.
	Elsewhere
)

// MaxStart bounds a Start, in bytes. The kernel takes less than that for the arguments of a program.
const MaxStart = 8<<20 - 4096

const headerSize = int(unsafe.Sizeof(StartHeader{}))

func (s *Start) encode() ([]byte, error) {
	h := StartHeader{Packet: StartPacket, Argc: uint32(len(s.Argv)), Envc: uint32(len(s.Env)), Scripts: uint32(len(s.Scripts))}
	if s.Expect != nil {
		h.Flags |= Expecting
		h.Expect = *s.Expect
	}
	h.Argv = uint32(headerSize)
	h.Env = h.Argv + 8*(h.Argc+1)
	h.Script = h.Env + 8*(h.Envc+1)
	b := make([]byte, int(h.Script)+4*len(s.Scripts), 8<<10)
	for i, n := range s.Scripts {
		binary.NativeEndian.PutUint32(b[int(h.Script)+4*i:], uint32(n))
	}
	text := func(t string) (at uint32) {
		at = uint32(len(b))
		b = append(append(b, t...), 0)
		return at
	}
	size := 0
	for _, list := range [][]string{{s.Path, s.Dir}, s.Argv, s.Env} {
		for _, t := range list {
			if strings.IndexByte(t, 0) >= 0 {
				return nil, syscall.EINVAL // as exec would have it
			}
			size += len(t) + 9
		}
	}
	if size > MaxStart-4096 {
		return nil, syscall.E2BIG
	}
	h.Path, h.Dir = text(s.Path), text(s.Dir)
	for i, t := range s.Argv {
		at := text(t) // which may move b
		binary.NativeEndian.PutUint64(b[int(h.Argv)+8*i:], uint64(at))
	}
	for i, t := range s.Env {
		at := text(t) // which may move b
		binary.NativeEndian.PutUint64(b[int(h.Env)+8*i:], uint64(at))
	}
	h.Size = uint32(len(b))
	copy(b, unsafe.Slice((*byte)(unsafe.Pointer(&h)), headerSize))
	return b, nil
}

// abridged is the packet of a message that is in a file.
func (s *Start) abridged(whole []byte) []byte {
	head := append([]byte(nil), whole[:headerSize]...)
	flags := head[unsafe.Offsetof(StartHeader{}.Flags):]
	binary.NativeEndian.PutUint32(flags, binary.NativeEndian.Uint32(flags)|Elsewhere)
	return head
}

func (*Start) decode([]byte) error { return errDirection }

func (r *Release) encode() ([]byte, error) {
	run := uint32(0)
	if r.Run {
		run = 1
	}
	return binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, ReleasePacket), run), nil
}

func (*Release) decode([]byte) error { return errDirection }

var errDirection = errors.New("this message only goes to PID 1")

const replySize = int(unsafe.Sizeof(Reply{}))

func (r *Reply) encode() ([]byte, error) {
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r))...), nil
}

func (r *Reply) decode(b []byte) error {
	if len(b) != int(unsafe.Sizeof(*r)) {
		return errMalformed
	}
	for i, v := range []*uint32{(*uint32)(&r.Kind), &r.A, &r.B, &r.C} {
		*v = binary.NativeEndian.Uint32(b[4*i:])
	}
	if r.Kind < Ready || r.Kind > Ended {
		return errMalformed
	}
	return nil
}

// startStages are the stages of a refused start, by the number that PID 1 gives.
var startStages = []Stage{StageFork, StageExec, StageStop, StageScript}

// The numbers.
const (
	AtFork = iota
	AtExec
	AtStop
	AtScript
)

// StartStage is the stage of a Refused reply.
func (r Reply) StartStage() Stage {
	if int(r.A) < len(startStages) {
		return startStages[r.A]
	}
	return StageStop
}
