// Package wire carries messages and descriptors between the broker and PID 1 of a sandbox (A-SBX-06).
//
// The transport is one SOCK_SEQPACKET socket pair made by the broker; only PID 1 inherits the other end and no payload ever
// holds it. A message is one packet; a large one travels in a sealed memory file beside an almost empty packet,
// because argument lists may be longer than a socket buffer. Either end's death is an io.EOF at the other.
package wire
