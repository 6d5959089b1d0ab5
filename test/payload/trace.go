//go:build linux

package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() {
	add(map[string]action{
		// Asks the parent to trace this process and then sends itself a signal, which stops it until the parent lets it go on.
		"traceme": {"SIGNAL", func(a []string) (string, error) {
			runtime.LockOSThread()
			sig := syscall.Signal(number(a[0]))
			signal.Ignore(sig)
			if _, err := call(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0); err != nil {
				return "", err
			}
			return "went on", unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
		}},
	})
}
