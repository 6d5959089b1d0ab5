//go:build linux

// Command server is agent-mcp with one difference: it kills itself at its k-th durable effect (A-TX-04). Everything else is
// the product: the same lifecycle, the same backend, the same launcher of sandboxes.
//
//	CRASH_AT=k     die, by SIGKILL, instead of performing the k-th counted call; 0 or unset never
//	CRASH_TRACE=F  append each counted call to file F, so that the test knows where it died
//
// Counted are all calls but those on the logs and the preparation of a journal's new version.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"sekisho/internal/agent/lifecycle"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/host"
	"sekisho/internal/wireout"
	"sekisho/test/crashfs"
)

func main() {
	if host.Child() {
		return
	}
	os.Exit(run())
}

func run() int {
	at, _ := strconv.Atoi(os.Getenv("CRASH_AT"))
	trace, err := os.OpenFile(os.Getenv("CRASH_TRACE"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return lifecycle.ExitFailure
	}
	defer trace.Close()
	counts := func(op crashfs.Op) bool {
		if !counted(op) {
			return false
		}
		fmt.Fprintln(trace, op.Name, op.Path)
		return true
	}
	die := func(crashfs.Op) {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	executable, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return lifecycle.ExitFailure
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return lifecycle.Serve(ctx, lifecycle.ServeOptions{
		Options: lifecycle.Options{
			Config:     os.Args[1],
			Executable: executable,
			Version:    "0.0.0-crash",
			Env:        os.Getenv,
			Files:      crashfs.New(fileop.OS(), at, die, crashfs.Torn(tears), crashfs.Counting(counts)),
			Stdin:      os.Stdin,
			Stderr:     os.Stderr,
		},
		Wire: wireout.Take,
	})
}

// counted leaves out the logs, and creating, writing and syncing a journal before its rename: until then a crash leaves a
// stray file, which the journal's own tests visit call by call.
func counted(op crashfs.Op) bool {
	dir := filepath.Base(filepath.Dir(op.Path))
	if dir == "logs" || filepath.Base(op.Path) == "logs" {
		return false
	}
	prepared := dir == "recovery" && strings.HasSuffix(op.Path, ".tmp")
	return !prepared || op.Name == "unlink"
}

// tears lets writes of the program's and the user's own files be cut, and never one to a control group, whose name has no
// place in the tree of files.
func tears(op crashfs.Op) bool {
	return filepath.IsAbs(op.Path) && !strings.HasPrefix(op.Path, "/sys/")
}
