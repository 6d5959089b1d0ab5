//go:build linux

package linux

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/wire"
)

// bound are the files and directories of the host's /etc that programs need and that say nothing about this machine's
// people or services. ssl/private is not among them.
var bound = []struct {
	path string
	file bool
}{{"/etc/ld.so.cache", true}, {"/etc/ssl/certs", false}, {"/etc/alternatives", false}}

// hosts is the hosts file: the only names that mean anything inside.
func hosts(names []sandbox.NetworkName) string {
	text := "127.0.0.1 localhost\n::1 localhost\n"
	for _, n := range names {
		text += n.Address.String() + " " + n.Name + "\n"
	}
	return text
}

// etc generates the account and name files of a sandbox in which one user exists and no name service answers; names
// that the task's network was resolved to are pinned.
func (v *view) etc(id identity, names []sandbox.NetworkName) {
	nobody := ""
	if id.in != 65534 {
		nobody = "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
	}
	nogroup := ""
	if id.inG != 65534 {
		nogroup = "nogroup:x:65534:\n"
	}
	v.layout.Files = append(v.layout.Files,
		wire.File{Path: "/etc/passwd", Text: fmt.Sprintf("%s:x:%d:%d:%s:%s:/bin/sh\n%s", userName, id.in, id.inG, userName, v.home, nobody)},
		wire.File{Path: "/etc/group", Text: fmt.Sprintf("%s:x:%d:\n%s", userName, id.inG, nogroup)},
		wire.File{Path: "/etc/hosts", Text: hosts(names)},
		wire.File{Path: "/etc/nsswitch.conf", Text: "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"},
		wire.File{Path: "/etc/resolv.conf", Text: ""},
	)
	for _, b := range bound {
		var st unix.Stat_t
		if unix.Lstat(b.path, &st) != nil || (st.Mode&unix.S_IFMT == unix.S_IFDIR) == b.file || st.Mode&unix.S_IFMT == unix.S_IFLNK {
			continue // this system does without it
		}
		v.bind(wire.Bind{Target: b.path, Source: b.path, FD: -1, File: b.file, Make: true, Attr: mounts.Base | mounts.ReadOnly | mounts.NoExec,
			ID: sandbox.FileID{Dev: uint64(st.Dev), Ino: st.Ino}}, false)
	}
	if zone, err := filepath.EvalSymlinks("/etc/localtime"); err == nil && within("/usr/share/zoneinfo", zone) {
		v.link("/etc/localtime", zone)
	}
	if fi, err := os.Lstat("/etc/localtime"); err == nil && fi.Mode().IsRegular() {
		v.bind(wire.Bind{Target: "/etc/localtime", Source: "/etc/localtime", FD: -1, File: true, Make: true,
			Attr: mounts.Base | mounts.ReadOnly | mounts.NoExec}, false)
	}
	v.rule("/etc", sandbox.Read, false)
}
