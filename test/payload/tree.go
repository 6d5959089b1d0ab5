//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

// deadline reports whether the given number of seconds has passed.
func deadline(secs string) func() bool {
	end := time.Now().Add(seconds(secs))
	return func() bool { return time.Now().After(end) }
}

func init() {
	add(map[string]action{
		"exec": {"PATH ARGS...", func(a []string) (string, error) { // as a child
			out, err := exec.Command(a[0], a[1:]...).CombinedOutput()
			return string(out), err
		}},
		"exec-into": {"PATH ARGS...", func(a []string) (string, error) { return "", unix.Exec(a[0], a, os.Environ()) }},
		// A program that exists nowhere as a file.
		"memfd-exec": {"PROGRAM ARGS...", memfdExec},
		// The loader as a way round the execute right.
		"ldso-exec": {"LOADER PROGRAM ARGS...", func(a []string) (string, error) {
			out, err := exec.Command(a[0], a[1:]...).CombinedOutput()
			return string(out), err
		}},
		"mmap-exec": {"PATH", func(a []string) (string, error) {
			f, err := os.Open(a[0])
			if err != nil {
				return "", err
			}
			defer f.Close()
			b, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
			if err != nil {
				return "", err
			}
			return "", unix.Munmap(b)
		}},
		"kill": {"PID SIGNAL", func(a []string) (string, error) {
			return "", unix.Kill(int(number(a[0])), syscall.Signal(number(a[1])))
		}},
		// Every thread of a process, by its list or, where that is hidden, by trying the ids up to LAST.
		"tgkill":  {"PID SIGNAL LAST", func(a []string) (string, error) { return threads(a, unix.SYS_TGKILL) }},
		"tkill":   {"PID SIGNAL LAST", func(a []string) (string, error) { return threads(a, unix.SYS_TKILL) }},
		"killtid": {"PID SIGNAL LAST", func(a []string) (string, error) { return threads(a, unix.SYS_KILL) }},
		// Signals by way of a descriptor's owner.
		"sigio":       {"PID SIGNAL", func(a []string) (string, error) { return sigio(a, int(number(a[0]))) }},
		"sigio-group": {"PID SIGNAL", func(a []string) (string, error) { return sigio(a, -int(number(a[0]))) }},
		// SECONDS of a heartbeat in FILE from a process that left the session, was forked twice and ignores TERM.
		"daemonize": {"FILE SECONDS", daemonize},
		"heartbeat": {"FILE SECONDS", heartbeat},
		"forkbomb":  {"COUNT SECONDS", func(a []string) (string, error) { return bomb(a, startSleeper) }},
		// Forks that do not ask the broker and whose children never make another system call than their waiting.
		"forkbomb-silent": {"COUNT SECONDS", func(a []string) (string, error) { return bomb(a, startSilent) }},
		"threads":         {"COUNT SECONDS", manyThreads},
		"sleep":           {"SECONDS", func(a []string) (string, error) { time.Sleep(seconds(a[0])); return "", nil }},
		"spin": {"SECONDS", func(a []string) (string, error) {
			n := 0
			for end := deadline(a[0]); !end(); n++ {
			}
			return "", nil
		}},
		// A crash that dumps core if anything does.
		"crash": {"", func([]string) (string, error) {
			debug.SetTraceback("crash")
			panic("on purpose")
		}},
	})
}

func memfdExec(a []string) (string, error) {
	program, err := os.ReadFile(a[0])
	if err != nil {
		return "", err
	}
	fd, err := unix.MemfdCreate("payload", 0)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), "payload")
	if _, err := f.Write(program); err != nil {
		return "", err
	}
	out, err := exec.Command(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), a[1:]...).CombinedOutput()
	return string(out), err
}

// threads sends a signal to every thread and is content when one arrived.
func threads(a []string, nr uintptr) (string, error) {
	pid, sig, last := number(a[0]), number(a[1]), int(number(a[2]))
	var tids []int
	entries, _ := os.ReadDir("/proc/" + a[0] + "/task")
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	if len(tids) == 0 {
		for tid := 1; tid <= min(last, 4096); tid++ {
			tids = append(tids, tid)
		}
	}
	var hit []string
	var failure error
	for _, tid := range tids {
		if tid == os.Getpid() || ownThread(tid) {
			continue
		}
		var errno syscall.Errno
		switch nr {
		case unix.SYS_TGKILL:
			_, _, errno = unix.Syscall(nr, pid, uintptr(tid), sig)
		default:
			_, _, errno = unix.Syscall(nr, uintptr(tid), sig, 0)
		}
		if errno == 0 {
			hit = append(hit, itoa(tid))
		} else if errno != unix.ESRCH || failure == nil {
			failure = errno
		}
	}
	if len(hit) > 0 {
		return strings.Join(hit, " "), nil
	}
	return "", failure
}

func ownThread(tid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
	return err == nil
}

func sigio(a []string, owner int) (string, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return "", err
	}
	if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETSIG, int(number(a[1]))); err != nil {
		return "", err
	}
	if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETOWN, owner); err != nil {
		return "", err
	}
	if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC); err != nil {
		return "", err
	}
	_, err := unix.Write(p[1], []byte("x"))
	return "", err
}

// daemonize returns when the grandchild's first heartbeat is on disk.
func daemonize(a []string) (string, error) {
	// The child is a session leader of its own and only starts the grandchild.
	cmd := exec.Command("/proc/self/exe", "exec-leave", a[0], a[1])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil {
		return "", err
	}
	for range 500 {
		if _, err := os.Stat(a[0]); err == nil {
			return "", nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return "", unix.ETIMEDOUT
}

func init() {
	add(map[string]action{"exec-leave": {"FILE SECONDS", func(a []string) (string, error) {
		cmd := exec.Command("/proc/self/exe", "heartbeat", a[0], a[1])
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return "", cmd.Start()
	}}})
}

// heartbeat appends a byte every 20 ms.
func heartbeat(a []string) (string, error) {
	signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE)
	f, err := os.OpenFile(a[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return "", err
	}
	for end := deadline(a[1]); !end(); time.Sleep(20 * time.Millisecond) {
		if _, err := f.WriteString("."); err != nil {
			return "", err
		}
	}
	return "", nil
}

// bomb starts up to COUNT processes that live for SECONDS and tells how many there were.
func bomb(a []string, start func(secs string) error) (string, error) {
	runtime.LockOSThread()
	n := 0
	for ; n < min(int(number(a[0])), 4096); n++ {
		if err := start(a[1]); err != nil {
			return "started " + itoa(n), err
		}
	}
	time.Sleep(seconds(a[1]))
	return "started " + itoa(n), nil
}

func startSleeper(secs string) error { return exec.Command("/proc/self/exe", "sleep", secs).Start() }

// startSilent forks as glibc does, without a word from the child but its waiting.
//
//go:norace
func startSilent(secs string) error {
	wait := unix.Timespec{Sec: int64(seconds(secs) / time.Second)}
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_CHILD_SETTID|unix.CLONE_CHILD_CLEARTID|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		quiet(&wait)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// manyThreads keeps COUNT threads of this one process alive.
func manyThreads(a []string) (string, error) {
	n := min(int(number(a[0])), 4096)
	debug.SetMaxThreads(n + 64)
	ready, done := make(chan struct{}), make(chan struct{})
	for range n {
		go func() {
			runtime.LockOSThread()
			ready <- struct{}{}
			<-done
		}()
	}
	for range n {
		<-ready
	}
	entries, err := os.ReadDir("/proc/self/task")
	time.Sleep(seconds(a[1]))
	close(done)
	return "threads " + itoa(len(entries)), err
}
