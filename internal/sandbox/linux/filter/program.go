//go:build linux

package filter

import "os"

// Program is an assembled filter. It is immutable and safe for concurrent use.
type Program struct{ raw []byte }

// Build assembles the filter of s. It is pure; a policy needs it once.
func Build(s Spec) (*Program, error) { panic("skeleton") }

// Load returns the program that Bytes returned elsewhere, so that the broker assembles and PID 1 only installs.
func Load(b []byte) (*Program, error) { panic("skeleton") }

// Bytes is the program as the kernel's struct sock_filter array in native byte order.
func (p *Program) Bytes() []byte { panic("skeleton") }

// Install sets no_new_privs and puts the filter on the calling thread, which must be locked (runtime.LockOSThread) and is
// restricted for the rest of its life. notify is the listener for forks: until another process serves it with
// ServeForks, every fork of this thread waits; once it is closed everywhere, every fork fails with ENOSYS.
func (p *Program) Install() (notify *os.File, err error) { panic("skeleton") }
