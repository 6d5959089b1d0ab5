//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What one process can do to another by its id, besides the plain forms in kernel.go and tree.go.
func init() {
	add(map[string]action{
		"pidfd-signal": {"PID SIGNAL", func(a []string) (string, error) {
			fd, err := unix.PidfdOpen(int(number(a[0])), 0)
			if err != nil {
				return "", err
			}
			return "", unix.PidfdSendSignal(fd, unix.Signal(number(a[1])), nil, 0)
		}},
		"proc-signal": {"PID SIGNAL", func(a []string) (string, error) { // the kernel takes a directory of /proc for a pidfd
			fd, err := unix.Open("/proc/"+a[0], unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return "", err
			}
			return "", unix.PidfdSendSignal(fd, unix.Signal(number(a[1])), nil, 0)
		}},
		// PIDFD_THREAD names one thread.
		"pidfd-thread": {"PID SIGNAL LAST", func(a []string) (string, error) {
			return someThread(a, func(tid int) error {
				fd, err := unix.PidfdOpen(tid, unix.O_EXCL)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				return unix.PidfdSendSignal(fd, unix.Signal(number(a[1])), nil, 0)
			})
		}},
		"sigqueue": {"PID SIGNAL", func(a []string) (string, error) {
			return call(unix.SYS_RT_SIGQUEUEINFO, number(a[0]), number(a[1]), info(number(a[1])))
		}},
		"tgsigqueue": {"PID SIGNAL LAST", func(a []string) (string, error) {
			return someThread(a, func(tid int) error {
				_, err := call(unix.SYS_RT_TGSIGQUEUEINFO, number(a[0]), uintptr(tid), number(a[1]), info(number(a[1])))
				return err
			})
		}},
		"scheduler": {"PID", func(a []string) (string, error) { // SCHED_IDLE
			return call(unix.SYS_SCHED_SETSCHEDULER, number(a[0]), unix.SCHED_IDLE, ptr())
		}},
		"sched-attr": {"PID", func(a []string) (string, error) {
			return "", unix.SchedSetAttr(int(number(a[0])), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
		}},
		"sched-param": {"PID", func(a []string) (string, error) { return call(unix.SYS_SCHED_SETPARAM, number(a[0]), ptr()) }},
		"kcmp":        {"PID", func(a []string) (string, error) { return call(unix.SYS_KCMP, number(a[0]), number(a[0]), 0, 0, 0) }},
		"move-pages": {"PID", func(a []string) (string, error) { // asks where a page lies
			return call(unix.SYS_MOVE_PAGES, number(a[0]), 0, 0, 0, 0, 0)
		}},
		"migrate-pages": {"PID", func(a []string) (string, error) {
			nodes := uint64(1)
			return call(unix.SYS_MIGRATE_PAGES, number(a[0]), 64, uintptr(unsafe.Pointer(&nodes)), uintptr(unsafe.Pointer(&nodes)))
		}},
		"process-madvise": {"PID ADDRESS", func(a []string) (string, error) { // MADV_PAGEOUT
			fd, err := unix.PidfdOpen(int(number(a[0])), 0)
			if err != nil {
				return "", err
			}
			v := [2]uintptr{number(a[1]) &^ 4095, 4096}
			return call(unix.SYS_PROCESS_MADVISE, uintptr(fd), uintptr(unsafe.Pointer(&v)), 1, 21, 0)
		}},
		// Only the memory of a process that is dying can be taken; of a living one the kernel says EINVAL.
		"process-mrelease": {"PID", func(a []string) (string, error) {
			fd, err := unix.PidfdOpen(int(number(a[0])), 0)
			if err != nil {
				return "", err
			}
			return call(unix.SYS_PROCESS_MRELEASE, uintptr(fd), 0)
		}},
		"set-robust-of": {"PID", func(a []string) (string, error) { // where its list of locks lies
			var head, size uintptr
			_, err := call(unix.SYS_GET_ROBUST_LIST, number(a[0]), uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&size)))
			return fmt.Sprintf("%#x", head), err
		}},
		// Every file of a control group that could be written, found or guessed.
		"cgroup-write": {"DIR", func(a []string) (string, error) {
			var failure error = unix.ENOENT
			for _, name := range []string{"cgroup.procs", "tasks", "cgroup.kill", "cgroup.freeze", "memory.max", "pids.max", "memory.limit_in_bytes", "freezer.state"} {
				f, err := os.OpenFile(a[0]+"/"+name, os.O_WRONLY, 0)
				if err == nil {
					f.Close()
					return name, nil
				}
				if !os.IsNotExist(err) {
					failure = err
				}
			}
			return "", failure
		}},
	})
}

// info is a siginfo that a process may send to another: SI_QUEUE.
func info(sig uintptr) uintptr {
	buffer = [4096]byte{}
	*(*int32)(unsafe.Pointer(&buffer[0])) = int32(sig)
	*(*int32)(unsafe.Pointer(&buffer[8])) = -1
	return ptr()
}

// someThread tries every thread of a process, by its list or the ids up to LAST, and is content with one.
func someThread(a []string, one func(tid int) error) (string, error) {
	var tids []int
	entries, _ := os.ReadDir("/proc/" + a[0] + "/task")
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	if len(tids) == 0 {
		for tid := 1; tid <= min(int(number(a[2])), 4096); tid++ {
			tids = append(tids, tid)
		}
	}
	var failure error
	for _, tid := range tids {
		if ownThread(tid) {
			continue
		}
		err := one(tid)
		if err == nil {
			return itoa(tid), nil
		}
		if err != unix.ESRCH || failure == nil {
			failure = err
		}
	}
	return "", failure
}
