package rootio

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// filesystems names the types that a person may meet, by the magic number that statfs(2) tells.
var filesystems = map[uint32]string{
	0xef53:     "ext2/3/4",
	0x58465342: "xfs",
	0x9123683e: "btrfs",
	0x2fc12fc1: "zfs",
	0xf2f52010: "f2fs",
	0xca451a4e: "bcachefs",
	0x01021994: "tmpfs",
	0x794c7630: "overlay",
	0x858458f6: "ramfs",
	0x73717368: "squashfs",
	0xe0f5e1e2: "erofs",
	0x00009660: "iso9660",
	0x00004d44: "vfat",
	0x2011bab0: "exfat",
	0x7366746e: "ntfs3",
	0x5346544e: "ntfs",
	0x00006969: "nfs",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x0000517b: "smb",
	0x01021997: "9p",
	0x65735546: "fuse", // virtiofs and every FUSE program; see named
	0x786f4256: "vboxsf",
	0xbacbacbc: "vmhgfs",
	0x00c36400: "ceph",
	0x5346414f: "afs",
	0x73757245: "coda",
	0x7461636f: "ocfs2",
	0x01161970: "gfs2",
	0x00009fa0: "proc",
	0x62656572: "sysfs",
	0x0027e0eb: "cgroup",
	0x63677270: "cgroup2",
	0x00001cd1: "devpts",
	0x64626720: "debugfs",
	0x74726163: "tracefs",
	0x73636673: "securityfs",
	0x6c6f6f70: "binfmt_misc",
}

// named is the type that mountinfo tells of the mount of f, such as "virtiofs" or "fuse.sshfs", or "": one number stands for
// all that answer from outside the kernel.
func named(f *os.File) string {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st); err != nil || st.Mask&unix.STATX_MNT_ID == 0 {
		return ""
	}
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	return mountType(string(info), strconv.FormatUint(st.Mnt_id, 10))
}

// mountType reads mountinfo text: the first field of a line is the mount's number, the first behind the dash the type.
func mountType(info, id string) string {
	for line := range strings.Lines(info) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		if len(fields) > 0 && fields[0] == id && dash > 0 && dash+1 < len(fields) {
			return fields[dash+1]
		}
	}
	return ""
}

func filesystem(f *os.File) (string, error) {
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(int(f.Fd()), &st) }); err != nil {
		return "", err
	}
	magic := uint32(st.Type)
	if magic == unix.FUSE_SUPER_MAGIC {
		if name := named(f); name != "" {
			return name, nil
		}
	}
	if name, ok := filesystems[magic]; ok {
		return name, nil
	}
	return "0x" + strconv.FormatUint(uint64(magic), 16), nil
}
