// Package proctree watches and ends processes of this operating system by an identity that a reused process id cannot
// take over.
package proctree

import "errors"

// ErrGone reports that the identified process no longer exists.
var ErrGone = errors.New("process is gone")

// ID identifies one process while this system runs: a process id alone may be used again.
type ID struct {
	PID int
	// Start is when the process started, in the system's own unit since boot.
	Start uint64
}
