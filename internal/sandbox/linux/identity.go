//go:build linux

package linux

import (
	"fmt"
	"os"
)

// reservedID is the host user and group id of a payload when the server is root: above every range that distributions,
// systemd and container tools hand out, below the sign bit. Host uid 0 is never mapped: a process without capabilities
// but with kernel uid 0 could still write the host's core_pattern.
const reservedID = 2147450881

// insideID is what such a payload sees as its own id.
const insideID = 1000

// identity is who runs the server and, from that, who a payload is.
type identity struct {
	root     bool
	uid, gid int // host ids of the payload
	in, inG  int // the same inside
}

func whoami() identity {
	if os.Geteuid() == 0 {
		return identity{root: true, uid: reservedID, gid: reservedID, in: insideID, inG: insideID}
	}
	uid, gid := os.Geteuid(), os.Getegid()
	return identity{uid: uid, gid: gid, in: uid, inG: gid}
}

// maps are the id maps of a sandbox's user namespace, one user and one group. An ordinary user must first forbid setgroups,
// which could drop a group that denies access; root's PID 1 uses it, to drop root's groups.
func (id identity) maps() (uid, gid string, denySetgroups bool) {
	return fmt.Sprintf("%d %d 1\n", id.in, id.uid), fmt.Sprintf("%d %d 1\n", id.inG, id.gid), !id.root
}
