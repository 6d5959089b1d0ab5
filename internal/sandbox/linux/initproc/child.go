//go:build linux

package initproc

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/wire"
)

// Marker is argv[0] of PID 1. Started with it by anyone else, the program finds no packet socket and ends.
const Marker = "sekisho-sandbox-init"

// ProbeMarker is argv[0] of the program when preflight runs it inside a throw-away sandbox: it ends at once, with success.
const ProbeMarker = "sekisho-sandbox-probe"

// socket is the descriptor that the broker put there.
const socket = 3

// Environment is what PID 1 runs with. Asynchronous preemption is off because PID 1 handles no signal at all.
func Environment() []string {
	return []string{"GODEBUG=asyncpreemptoff=1,containermaxprocs=0,updatemaxprocs=0", "GOMAXPROCS=2", "GOTRACEBACK=none"}
}

// init is where PID 1 lives and ends; main never runs in it. Two things are had only here. The runtime runs package
// initialization on the main thread, so that the spawner is thread 1, the one id that the filter keeps every signal from.
// And Go initializes packages by their dependencies and then by name: the network, the MCP SDK and others that PID 1 never
// uses would come later, and cost a tenth of a new sandbox.
func init() {
	if len(os.Args) != 1 || os.Args[0] != Marker {
		return
	}
	if os.Getpid() != 1 || unix.Gettid() != 1 {
		os.Exit(2) // somebody borrowed the name: without own namespaces there is nothing to be first in
	}
	if err := serve(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// Child reports whether this process was started by preflight inside a throw-away sandbox: then it has nothing to do.
func Child() bool { return len(os.Args) == 1 && os.Args[0] == ProbeMarker }

// serve sets the process up and ends with it: when the broker closes the socket, or with an error.
func serve() error {
	if err := closeInherited(); err != nil {
		return err
	}
	conn, err := wire.OpenThread(socket)
	if err != nil {
		return err
	}
	setup, files, err := receiveSetup(conn)
	if err != nil {
		return err
	}
	if err := become(setup); err != nil {
		return fail(conn, err)
	}
	if err := harden(); err != nil {
		return fail(conn, err)
	}
	// The end of the connection ends this process at once, whatever its other threads are doing.
	go func() {
		conn.Gone()
		os.Exit(0)
	}()
	listening, listeners, err := listen(setup.Network)
	if err != nil {
		return fail(conn, err)
	}
	program, copies, err := build(setup, files)
	if err != nil {
		return fail(conn, err)
	}
	runtime.LockOSThread() // for good: the runtime starts no other thread from a locked one
	return spawn(conn, setup, program, copies, listening, listeners)
}

// receiveSetup collects the descriptors and the setup itself.
func receiveSetup(conn *wire.Conn) (*wire.Setup, []*os.File, error) {
	var files []*os.File
	for {
		var r wire.Request
		more, err := conn.Receive(&r)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, more...)
		switch {
		case r.Setup != nil:
			return r.Setup, files, nil
		case !r.Files:
			return nil, nil, errors.New("unexpected message before the setup")
		}
	}
}

// build does what needs capabilities: the host name and the root.
func build(setup *wire.Setup, files []*os.File) (*filter.Program, privateCopies, error) {
	defer wire.CloseAll(files)
	program, err := filter.Load(setup.Filter)
	if err != nil {
		return nil, nil, wire.Fail(wire.StageSeccomp, "", err)
	}
	if err := unix.Sethostname([]byte(setup.Hostname)); err != nil {
		return nil, nil, wire.Fail(wire.StageNamespace, "uts", err)
	}
	copies, err := mounts.Assemble(setup.Layout, files)
	return program, copies, err
}

// fail reports why this process cannot go on; it returns nil when the broker was told.
func fail(conn *wire.Conn, err error) error {
	var f *wire.Failed
	if !errors.As(err, &f) {
		f = &wire.Failed{Stage: wire.StageNamespace, Detail: err.Error()}
	}
	return conn.Send(&wire.Reply{Failed: f})
}
