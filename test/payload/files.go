//go:build linux

package main

import (
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func init() {
	add(map[string]action{
		"read": {"PATH", func(a []string) (string, error) {
			b, err := os.ReadFile(a[0])
			return string(b), err
		}},
		"list": {"PATH", func(a []string) (string, error) {
			entries, err := os.ReadDir(a[0])
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
			}
			return strings.Join(names, " "), err
		}},
		"write":  {"PATH TEXT", func(a []string) (string, error) { return put(a[0], a[1], os.O_WRONLY|os.O_CREATE|os.O_TRUNC) }},
		"create": {"PATH TEXT", func(a []string) (string, error) { return put(a[0], a[1], os.O_WRONLY|os.O_CREATE|os.O_EXCL) }},
		"append": {"PATH TEXT", func(a []string) (string, error) { return put(a[0], a[1], os.O_WRONLY|os.O_APPEND) }},
		"open-write": {"PATH", func(a []string) (string, error) { // and nothing more
			fd, err := unix.Open(a[0], unix.O_WRONLY|unix.O_CLOEXEC, 0)
			if err == nil {
				unix.Close(fd)
			}
			return "", err
		}},
		"open-truncate": {"PATH", func(a []string) (string, error) { // without asking for write
			return put(a[0], "", os.O_RDONLY|os.O_TRUNC)
		}},
		"truncate": {"PATH SIZE", func(a []string) (string, error) { return "", unix.Truncate(a[0], int64(number(a[1]))) }},
		"unlink":   {"PATH", func(a []string) (string, error) { return "", unix.Unlink(a[0]) }},
		"rmdir":    {"PATH", func(a []string) (string, error) { return "", unix.Rmdir(a[0]) }},
		"mkdir":    {"PATH", func(a []string) (string, error) { return "", unix.Mkdir(a[0], 0o755) }},
		"rename":   {"OLD NEW", func(a []string) (string, error) { return "", unix.Rename(a[0], a[1]) }},
		"exchange": {"A B", func(a []string) (string, error) {
			return "", unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
		}},
		"swap": {"A B SECONDS", func(a []string) (string, error) { return swap(a[0], a[1], a[2]) }},
		// The same until standard input ends, also while one of the names is missing.
		"swap-until": {"A B", func(a []string) (string, error) { return swapUntil(a[0], a[1]) }},
		"link":       {"OLD NEW", func(a []string) (string, error) { return "", unix.Link(a[0], a[1]) }},
		"symlink":    {"TARGET PATH", func(a []string) (string, error) { return "", unix.Symlink(a[0], a[1]) }},
		"chmod":      {"PATH MODE", func(a []string) (string, error) { return "", unix.Chmod(a[0], uint32(number(a[1]))) }},
		"chown": {"PATH UID GID", func(a []string) (string, error) {
			return "", unix.Chown(a[0], int(number(a[1])), int(number(a[2])))
		}},
		"touch": {"PATH", func(a []string) (string, error) {
			return "", unix.UtimesNanoAt(unix.AT_FDCWD, a[0], []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0)
		}},
		"setxattr": {"PATH NAME VALUE", func(a []string) (string, error) {
			return "", unix.Setxattr(a[0], a[1], []byte(a[2]), 0)
		}},
		"mknod": {"PATH fifo|file|char|block|socket", mknod},
		"copy": {"FROM TO", func(a []string) (string, error) {
			b, err := os.ReadFile(a[0])
			if err != nil {
				return "", err
			}
			return "", os.WriteFile(a[1], b, 0o755)
		}},
		"walk": {"PATH NAME", func(a []string) (string, error) { // how many files of that name are visible
			found := []string{}
			filepath.WalkDir(a[0], func(p string, d os.DirEntry, err error) error {
				if err == nil && d.Name() == a[1] {
					found = append(found, p)
				}
				return nil
			})
			if len(found) == 0 {
				return "", unix.ENOENT
			}
			return strings.Join(found, " "), nil
		}},
		// The Shocker attack: a handle of a directory, or of inode 2 of the file system that PATH is on.
		"handle": {"PATH", byHandle},
	})
}

func put(path, text string, flags int) (string, error) {
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if text == "" {
		return "", nil
	}
	_, err = f.WriteString(text)
	return "", err
}

// swap exchanges two names for a bounded time and reports how often.
func swap(x, y, secs string) (string, error) {
	n, end := 0, deadline(secs)
	for ; !end(); n++ {
		if err := unix.Renameat2(unix.AT_FDCWD, x, unix.AT_FDCWD, y, unix.RENAME_EXCHANGE); err != nil {
			return "", err
		}
	}
	return itoa(n), nil
}

func swapUntil(x, y string) (string, error) {
	done := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	for n := 0; ; {
		select {
		case <-done:
			return itoa(n), nil
		default:
		}
		if unix.Renameat2(unix.AT_FDCWD, x, unix.AT_FDCWD, y, unix.RENAME_EXCHANGE) == nil {
			n++
		}
	}
}

func mknod(a []string) (string, error) {
	mode := map[string]uint32{"fifo": unix.S_IFIFO, "file": unix.S_IFREG, "char": unix.S_IFCHR, "block": unix.S_IFBLK, "socket": unix.S_IFSOCK}[a[1]]
	if mode == 0 {
		return "", errUsage
	}
	dev := 0
	if a[1] == "char" || a[1] == "block" {
		dev = int(unix.Mkdev(1, 3)) // /dev/null: harmless if it works
	}
	return "", unix.Mknod(a[0], mode|0o644, dev)
}

func byHandle(a []string) (string, error) {
	mount, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	h, _, herr := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
	if herr != nil {
		h = unix.NewFileHandle(1, []byte{2, 0, 0, 0, 0, 0, 0, 0}) // inode 2, generation 0
	}
	fd, err := unix.OpenByHandleAt(mount, h, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return base64.StdEncoding.EncodeToString(h.Bytes()), nil
}
