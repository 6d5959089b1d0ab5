//go:build linux

// Package opcodetest performs programs in tests of those who write them.
package opcodetest

import (
	"errors"
	"syscall"

	"sekisho/internal/sandbox/linux/opcode"
)

// Run performs the program of b on the calling thread, which must be locked, with descriptors of this process, and returns what
// it put at places. name is for its report; see opcode.Image.Failure.
func Run(b *opcode.Builder, name func(int) string, places ...opcode.Ref) (results []int, err error) {
	p, err := b.Image()
	if err != nil {
		return nil, err
	}
	f, err := p.File()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	block, err := opcode.Map(f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, block.Close()) }()
	if at, errno := opcode.RawRun(block.Base()); errno != 0 {
		return nil, p.Failure(int(at), syscall.Errno(errno), name)
	}
	for _, at := range places {
		results = append(results, int(int32(*block.Word(at))))
	}
	return results, nil
}
