//go:build linux

package linux

// SetSmallest replaces the program that preflight runs, so that tests see the machine that has none.
func (b *Backend) SetSmallest(path string) { b.smallest = path }
