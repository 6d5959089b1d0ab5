package rootio

import (
	"errors"
	"os"

	"sekisho/internal/sandbox"
)

// Want says what Resolve may end with.
type Want uint8

const (
	// Existing: the path must name an existing regular file or directory.
	Existing Want = iota
	// MayCreate: the last element may be missing; its parent directory must exist.
	MayCreate
	// MayCreateParents: any number of last elements may be missing (mkdir with parents).
	MayCreateParents
)

// Target is one resolved object, held by descriptor. It is not safe for concurrent use. The caller closes it.
type Target struct {
	set    *Set
	member *member
	path   string
	parent *os.File // O_PATH directory that holds name; nil when the target is a root reached from outside
	above  Info     // of parent
	sync   *os.File // parent again, opened for reading when an effect needs it
	name   string
	object *os.File // O_PATH; nil when missing
	info   Info
	rest   []string // missing elements below parent, the first one is name
	isRoot bool     // the object is a root itself and can be neither replaced nor removed
}

// Path is the absolute resolved path: no links, no "." and "..". For a missing object it ends in the missing elements.
func (t *Target) Path() string { return t.path }

// Root is the root that the object lies in: the longest one that contains it.
func (t *Target) Root() sandbox.Root { return t.member.root }

// Info describes the object as it was when it was resolved; Kind Missing when there is none.
func (t *Target) Info() Info { return t.info }

// Missing lists the elements that do not exist yet, outermost first; empty for an existing object.
func (t *Target) Missing() []string { return t.rest }

// Close releases the descriptors.
func (t *Target) Close() error {
	var errs []error
	for _, f := range []*os.File{t.object, t.parent, t.sync} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	t.object, t.parent, t.sync = nil, nil, nil
	return errors.Join(errs...)
}
