package statedir

import "fmt"

// maxDepth is how many directories below each other are measured: each costs a descriptor while those below it are.
const maxDepth = 512

// Size is how much a tree takes.
type Size struct {
	// Bytes counts allocated blocks, at least 4 KiB for every name, and a file with several names once.
	Bytes   int64
	Entries int
	// TooDeep tells that the tree has more than 512 levels; the rest was not counted.
	TooDeep bool
}

// Over reports whether the tree takes more than limit bytes, or more than can be told.
func (s Size) Over(limit int64) bool { return s.TooDeep || s.Bytes > limit }

// Measure adds up the tree at path while others may change it: links are not followed, mounts not entered, and a directory
// without permissions is entered all the same and keeps them. It ends early once the tree takes more than limit bytes.
func Measure(path string, limit int64) (Size, error) {
	s, err := measure(path, limit)
	if err != nil {
		return s, fmt.Errorf("measuring %s: %w", path, err)
	}
	return s, nil
}
