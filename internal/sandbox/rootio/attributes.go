package rootio

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Attributes are the extended attributes of an object that go with its content to a replacement: user.* and system.*, which
// holds access lists, and security.capability. The kernel or other software owns the rest (labels, trusted.*).
type Attributes map[string][]byte

// maxAttributes bounds names and values together, because a journal holds them.
const maxAttributes = 64 << 10

// ErrAttributes tells that a file's extended attributes cannot be kept, so that it is not changed at all: without its access
// list, other people could read and write it.
var ErrAttributes = errors.New("its extended attributes cannot be kept")

const (
	accessList = "system.posix_acl_access"
	capability = "security.capability"
)

func keptAttribute(name string) bool {
	return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.") || name == capability
}

// Attributes reads those of the resolved object. Errors: ErrAttributes when there are more than 64 KiB of them.
func (t *Target) Attributes() (Attributes, error) { return t.attributes(maxAttributes) }

func (t *Target) attributes(limit int) (Attributes, error) {
	if t.object == nil {
		return nil, nil
	}
	names, err := listAttributes(t.object)
	if err != nil {
		return nil, pathError(t.path, err)
	}
	out := Attributes{}
	size := 0
	for _, name := range names {
		if !keptAttribute(name) {
			continue
		}
		value, err := getAttribute(t.object, name)
		if err != nil {
			return nil, pathError(t.path, err)
		}
		if size += len(name) + len(value); size > limit {
			return nil, pathError(t.path, fmt.Errorf("%w: more than %d bytes", ErrAttributes, limit))
		}
		out[name] = value
	}
	return out, nil
}

// give makes f's attributes exactly those of a. It comes before the mode is widened: until then nobody but the owner
// reads the file, and an access list that came from the directory would let others in under the mode's cover.
func (a Attributes) give(f *os.File) error {
	names, err := listAttributes(f)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, wanted := a[name]; wanted || !keptAttribute(name) {
			continue
		}
		if err := removeAttribute(f, name); err != nil && strings.HasPrefix(name, "system.posix_acl") {
			return fmt.Errorf("%w: removing %s: %w", ErrAttributes, name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		err := setAttribute(f, name, a[name])
		if name == capability && errors.Is(err, syscall.EPERM) {
			continue // only root may give it; without it the file can do less
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrAttributes, name, err)
		}
	}
	return nil
}
