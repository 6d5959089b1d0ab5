//go:build linux

package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kinds of memory besides plain pages. Each action fills MIB mebibytes, holds them for SECONDS and tells how much it
// got; what was refused before ends it with the error.
func init() {
	add(map[string]action{
		"alloc-pipes": {"MIB SECONDS", func(a []string) (string, error) {
			return hold(a, func() (int, error) {
				var p [2]int
				if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
					return 0, err
				}
				return stuff(p[1])
			})
		}},
		"alloc-sockets": {"MIB SECONDS", func(a []string) (string, error) { // connected pairs of AF_UNIX
			return hold(a, func() (int, error) {
				p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
				if err != nil {
					return 0, err
				}
				one, err := stuff(p[0])
				if err != nil {
					return one, err
				}
				two, err := stuff(p[1])
				return one + two, err
			})
		}},
		"alloc-sysv": {"MIB SECONDS", func(a []string) (string, error) {
			return hold(a, func() (int, error) {
				const size = 4 << 20
				id, err := unix.SysvShmGet(unix.IPC_PRIVATE, size, 0o600|unix.IPC_CREAT)
				if err != nil {
					return 0, err
				}
				b, err := unix.SysvShmAttach(id, 0, 0)
				if err != nil {
					return 0, err
				}
				unix.SysvShmCtl(id, unix.IPC_RMID, nil) // goes with this process
				fill(b)
				return size, nil
			})
		}},
		"alloc-messages": {"MIB SECONDS", func(a []string) (string, error) { // SysV message queues, which outlive their maker
			var queues []uintptr
			defer func() {
				for _, id := range queues {
					unix.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0)
				}
			}()
			return hold(a, func() (int, error) {
				id, _, errno := unix.Syscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, 0o600|unix.IPC_CREAT, 0)
				if errno != 0 {
					return 0, errno
				}
				queues = append(queues, id)
				var message struct {
					kind int64
					text [8192]byte
				}
				message.kind = 1
				n := 0
				for {
					if _, _, errno := unix.Syscall6(unix.SYS_MSGSND, id, uintptr(unsafe.Pointer(&message)), 8192, unix.IPC_NOWAIT, 0, 0); errno != 0 {
						return n, nil // full
					}
					n += 8192
				}
			})
		}},
		// Reading an address maps the shared page of zeros, which costs nobody anything but the table that says so.
		"alloc-tables": {"MIB SECONDS", func(a []string) (string, error) {
			return hold(a, func() (int, error) {
				const span, one = 1 << 30, 2 << 20 // one table of 4 KiB maps 2 MiB
				b, err := unix.Mmap(-1, 0, span, unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
				if err != nil {
					return 0, err
				}
				unix.Madvise(b, unix.MADV_NOHUGEPAGE)
				sum := byte(0)
				for i := 0; i < span; i += one {
					sum += b[i]
				}
				return span/one<<12 + int(sum), nil
			})
		}},
	})
}

// hold repeats one until it gave as much as asked for, and keeps it.
func hold(a []string, one func() (int, error)) (string, error) {
	most := unix.Rlimit{}
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &most) == nil {
		most.Cur = most.Max
		unix.Setrlimit(unix.RLIMIT_NOFILE, &most)
	}
	got := 0
	for want := min(int(number(a[0])), 1024) << 20; got < want; {
		n, err := one()
		got += n
		if err != nil || n == 0 {
			return "filled " + itoa(got>>20), err
		}
	}
	actions["sleep"].run(a[1:])
	return "filled " + itoa(got>>20), nil
}

// stuff writes until the descriptor takes no more.
func stuff(fd int) (n int, err error) {
	chunk := make([]byte, 64<<10)
	for {
		w, err := unix.Write(fd, chunk)
		if err == unix.EAGAIN {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n += w
	}
}
