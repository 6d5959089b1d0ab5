// Package opcode is a program of system calls as data: a Builder writes it, rawRun performs it.
//
// PID 1 of a sandbox is a process without a Go runtime: the copy that clone(2) made of one thread of the launcher. Nothing of
// the runtime works there. The other threads are gone with the locks they held, so nothing may be allocated, no stack may
// grow, no pointer may be written (the collector may be in the middle of a cycle, for ever) and nothing may panic. So whatever
// can be thought out before is thought out before, by ordinary code, and what is left is a flat list of operations over one
// block of memory.
//
// A program is position independent: operations name places by their distance from the start of the block. The first Shared
// bytes of a block are memory that the process shares with those it forks, and until it is started with its launcher; the
// rest is the image that Builder.Image makes.
//
// Functions whose name begins with "raw" run in such a process. They are nosplit, call only each other and
// syscall.RawSyscall6, index no slice and write no pointer; a test reads the machine code to prove it.
package opcode
