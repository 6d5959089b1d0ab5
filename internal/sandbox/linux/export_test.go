//go:build linux

package linux

import (
	"sekisho/internal/sandbox/linux/probe"
	"sekisho/internal/sandbox/linux/seen"
)

// SetSmallest replaces the program that preflight runs, so that tests see the machine that has none.
func (b *Backend) SetSmallest(path string) { b.smallest = path }

// ChangeFacts makes this machine look like another one.
func (b *Backend) ChangeFacts(change func(*probe.Facts)) {
	f := b.facts()
	change(&f)
	b.facts = func() probe.Facts { return f }
}

// SetCoreSocket makes this machine look like one that sends memory dumps to a socket, or like one that does not.
func (b *Backend) SetCoreSocket(on bool) { b.coreSocket = func() bool { return on } }

// SetDenies makes this kernel look like one that lets programs be written that run, or like one that does not.
func (b *Backend) SetDenies(on bool) { b.denies = func() bool { return on } }

// SetClock replaces the clock by which programs are old enough to be known again, and forgets every program.
func (b *Backend) SetClock(c seen.Clock) { b.seen = seen.New(c) }

// SetProc makes processes be looked for in another directory, and returns what undoes that.
func SetProc(dir string) (undo func()) {
	before := proc
	proc = dir
	return func() { proc = before }
}
