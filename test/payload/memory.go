//go:build linux

package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	add(map[string]action{
		"alloc": {"MIB", func(a []string) (string, error) { // anonymous
			n := int(number(a[0]))
			for range n {
				b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
				if err != nil {
					return "", err
				}
				fill(b)
			}
			return "filled " + a[0], nil
		}},
		"alloc-memfd": {"MIB", func(a []string) (string, error) {
			fd, err := unix.MemfdCreate("alloc", unix.MFD_CLOEXEC)
			if err != nil {
				return "", err
			}
			return pour(os.NewFile(uintptr(fd), "memfd"), a[0])
		}},
		"alloc-file": {"MIB PATH", func(a []string) (string, error) { // on tmpfs that is memory
			f, err := os.Create(a[1])
			if err != nil {
				return "", err
			}
			return pour(f, a[0])
		}},
		// COUNT of the host's huge pages, by mmap or memfd; with 0 only the way to one, which needs none to be set aside.
		"huge-pages": {"mmap|memfd COUNT", func(a []string) (string, error) {
			const size = 2 << 20
			fd, flags := -1, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_HUGETLB
			if a[0] == "memfd" {
				var err error
				if fd, err = unix.MemfdCreate("huge", unix.MFD_HUGETLB|unix.MFD_HUGE_2MB); err != nil {
					return "", err
				}
				if err := unix.Ftruncate(fd, int64(number(a[1]))*size); err != nil {
					return "", err
				}
				flags = unix.MAP_SHARED
			}
			if number(a[1]) == 0 {
				if fd < 0 {
					_, err := unix.Mmap(-1, 0, size, unix.PROT_READ, flags|unix.MAP_NORESERVE)
					return "", err
				}
				return "", nil
			}
			b, err := unix.Mmap(fd, 0, int(number(a[1]))*size, unix.PROT_READ|unix.PROT_WRITE, flags)
			if err != nil {
				return "", err
			}
			for i := 0; i < len(b); i += size {
				b[i] = 1
			}
			return itoa(len(b) / size), nil
		}},
		// MIB in a file that has no name any more, held open for SECONDS by a process that is dumpable ("plain") or not.
		"fill-unnamed": {"plain|undumpable PATH MIB SECONDS", func(a []string) (string, error) {
			if a[0] != "plain" {
				if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
					return "", err
				}
			}
			f, err := os.Create(a[1])
			if err != nil {
				return "", err
			}
			if err := os.Remove(a[1]); err != nil {
				return "", err
			}
			if said, err := pour(f, a[2]); err != nil {
				return said, err
			}
			defer f.Close()
			return actions["sleep"].run(a[3:])
		}},
		// A secret in memory for others to read; its place and process id are in the detail.
		"secret": {"TEXT SECONDS", func(a []string) (string, error) {
			copy(buffer[:], a[0])
			os.Stdout.WriteString("{\"pid\":" + itoa(os.Getpid()) + ",\"address\":" + itoa(int(uintptr(unsafe.Pointer(&buffer)))) + "}\n")
			return actions["sleep"].run(a[1:])
		}},
	})
}

func fill(b []byte) {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
}

func pour(f *os.File, mib string) (string, error) {
	chunk := make([]byte, 1<<20)
	fill(chunk)
	for range int(number(mib)) {
		if _, err := f.Write(chunk); err != nil {
			return "", err
		}
	}
	return "filled " + mib, nil
}
