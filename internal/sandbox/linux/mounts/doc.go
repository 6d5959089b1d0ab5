// Package mounts builds the file system that a sandbox sees (A-SBX-01, A-POL-02).
//
// Everything is mounted by descriptor: a source is opened, compared with the identity that was resolved at apply, and the
// detached copy made from that very descriptor is what gets attached, so that no path is trusted twice. Copies are private
// (a mount of the host never appears in the sandbox, nor the other way round), never recursive in effect (where the host
// has a mount below a source, processes find an empty cover, as file tools find a refusal), and always nosuid and nodev.
//
// The broker half (Clone with an id mapping, Mappings) runs only when the server is root; otherwise PID 1 makes the copies
// in its own mount namespace, where an ordinary user may.
package mounts
