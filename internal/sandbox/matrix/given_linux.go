package matrix

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Users of protected fixtures, besides the one that runs the suite. None of them needs an account.
const (
	ownerOfForeign = 65533
	ownerOfGuest   = 65532
)

// protections are the kinds of protected directory. Each holds file f, and each twin of the suite the same without the
// protection.
var protections = []string{"readonly", "acl", "immutable", "foreign"}

// MakeGiven makes, as root, the protected directories below dir for a suite that runs as uid and gid, and returns how to
// take the protection off again. dir exists.
func MakeGiven(dir string, uid, gid int) (release func() error, err error) {
	for _, kind := range protections {
		root := filepath.Join(dir, kind)
		if err := errors.Join(os.Mkdir(root, 0o755), os.WriteFile(root+"/f", []byte("old"), 0o644), os.WriteFile(root+"/g", []byte("old"), 0o644),
			unix.Setxattr(root+"/f", "user.note", []byte("kept"), 0)); err != nil {
			return nil, err
		}
		owner, group := uid, gid
		if kind == "foreign" {
			owner, group = ownerOfForeign, ownerOfForeign
		}
		for _, p := range []string{root, root + "/f", root + "/g"} {
			if err := os.Chown(p, owner, group); err != nil {
				return nil, err
			}
		}
	}
	err = errors.Join(
		os.Chmod(dir+"/readonly/f", 0o444), os.Chmod(dir+"/readonly/g", 0o444), os.Chmod(dir+"/readonly", 0o555),
		unix.Setxattr(dir+"/acl/f", "system.posix_acl_access", accessList(), 0),
		os.Chown(dir+"/foreign/g", ownerOfGuest, ownerOfGuest),
		setImmutable(dir+"/immutable/f", true),
	)
	release = func() error { return setImmutable(dir+"/immutable/f", false) }
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// accessList is user::rw-, user:65533:rw-, group::r--, mask::rw-, other::--- in the kernel's form (version 2).
func accessList() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, ^uint32(0)}, {2, 6, ownerOfForeign}, {4, 4, ^uint32(0)}, {16, 6, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

const fsImmutable = 0x10 // FS_IMMUTABLE_FL

func setImmutable(path string, on bool) error {
	flags, err := inodeFlags(path)
	if err != nil {
		return err
	}
	flags &^= fsImmutable
	if on {
		flags |= fsImmutable
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.FS_IOC_SETFLAGS, uintptr(unsafe.Pointer(&flags))); errno != 0 {
		return fmt.Errorf("setting the flags of %s: %w", path, errno)
	}
	return nil
}

func inodeFlags(path string) (flags uint64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.FS_IOC_GETFLAGS, uintptr(unsafe.Pointer(&flags))); errno != 0 {
		return 0, fmt.Errorf("reading the flags of %s: %w", path, errno)
	}
	return flags, nil
}

// protection describes everything that guards a directory and its files, but not their bytes.
func protection(root string) (string, error) {
	out := ""
	for _, path := range []string{root, root + "/f", root + "/g"} {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return "", err
		}
		out += fmt.Sprintf("%s %o %d:%d", filepath.Base(path), st.Mode, st.Uid, st.Gid)
		if flags, err := inodeFlags(path); err == nil {
			out += fmt.Sprintf(" flags %x", flags)
		}
		list := make([]byte, 4096)
		n, err := unix.Llistxattr(path, list)
		if err != nil {
			return "", err
		}
		for _, name := range splitNames(list[:n]) {
			value := make([]byte, 4096)
			n, err := unix.Lgetxattr(path, name, value)
			if err != nil {
				return "", err
			}
			out += fmt.Sprintf(" %s=%x", name, value[:n])
		}
		out += "\n"
	}
	return out, nil
}

func splitNames(list []byte) (names []string) {
	start := 0
	for i, b := range list {
		if b == 0 {
			names = append(names, string(list[start:i]))
			start = i + 1
		}
	}
	return names
}
