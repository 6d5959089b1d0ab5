// Package seen decides when a program need not be hashed again at its exec stop (A-POL-04, ADR 23).
//
// A Table remembers programs that were hashed in full. Unchanged is true only when nothing can have changed the bytes since:
// a miss costs a hash, a wrong hit would run what nobody approved. So every doubt is a miss, nothing is kept over the end of
// this process, and what is remembered comes from full hashes at an exec stop alone, while the kernel lets nobody have the
// file open for writing or mapped writable.
//
// Threat: whoever can write the program, in particular through a mapping that was made before the hash; clocks that are set
// back; names of the file inside a root that the sandbox may write. Not covered, because it is the administrator's own doing:
// writing to the block device below a file system, or as root into a page that the kernel holds for somebody's I/O.
package seen
