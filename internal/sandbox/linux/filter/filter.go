//go:build linux

package filter

import "sekisho/internal/sandbox"

// Spec is what a filter depends on.
type Spec struct {
	// Arch is a GOARCH: amd64 or arm64. Empty means this program's.
	Arch string
	// NoMemoryPrograms refuses memory files, for any could be executed: set where writing does not imply executing.
	NoMemoryPrograms bool
	// Network allows sockets of TCP; without it there is no socket of the internet families at all. UDP is never there.
	Network bool
}

// Ports are the TCP ports that a domain may use. Everything else of TCP is denied; a nil *Ports denies all.
type Ports struct {
	Connect []uint16 // besides Own
	// Own, first to last, are the ports at which programs may listen themselves and be connected to; a program that asks for
	// port 0 is given one of them, if the network namespace says so too.
	OwnFirst, OwnLast uint16
}

// PathRule grants rights on one object and, for a directory, on everything below it.
type PathRule struct {
	// Path is absolute, in the root of whoever enters the domain; a link in its last element is not followed.
	Path   string
	Rights sandbox.Rights
	// File is true when it is not a directory.
	File bool
	// List grants reading names in the directory and below, nothing else; Rights must be zero.
	List bool
}
