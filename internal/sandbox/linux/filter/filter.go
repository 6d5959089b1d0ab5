//go:build linux

package filter

import "sekisho/internal/sandbox"

// Spec is what a filter depends on.
type Spec struct {
	// Arch is a GOARCH: amd64 or arm64. Empty means this program's.
	Arch string
	// NoMemoryPrograms refuses memory files that could be executed: set where writing does not imply executing.
	NoMemoryPrograms bool
}

// PathRule grants rights on one object and, for a directory, on everything below it.
type PathRule struct {
	// FD refers to the object; an O_PATH descriptor is enough. It stays the caller's.
	FD     int
	Rights sandbox.Rights
	// File is true when FD is not a directory.
	File bool
	// List grants reading names in the directory and below, nothing else; Rights must be zero.
	List bool
}
