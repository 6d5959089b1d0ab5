// Package initproc is PID 1 of a sandbox: the product's executable, started again by the broker in new namespaces.
//
// It builds the root, makes one thread the spawner, and then serves one run at a time: fork from the spawner, stop at the
// exec, hand the executable to the broker, release, wait, kill whatever is left. It trusts the broker and nothing else; no
// payload can reach its socket, its memory, or (being hidden and not dumpable) anything of it below /proc. Its own threads
// stay outside the spawner's Landlock domain and keep the capabilities of the sandbox's user namespace.
//
// When its socket closes it exits, and the kernel kills every process of the pid namespace: that is how a sandbox never
// outlives its server.
package initproc

import (
	"errors"
	"fmt"
	"os"

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

// Child reports whether this process was started as PID 1 of a sandbox (after having been it until its end) or by
// preflight.
func Child() bool {
	if len(os.Args) != 1 {
		return false
	}
	switch os.Args[0] {
	case ProbeMarker:
		return true
	case Marker:
	default:
		return false
	}
	if os.Getpid() != 1 {
		os.Exit(2) // somebody borrowed the name: without own namespaces there is nothing to be first in
	}
	if err := serve(); err != nil {
		os.Exit(1)
	}
	return true
}

// serve returns nil when the broker closed the socket.
func serve() error {
	if err := harden(); err != nil {
		return err
	}
	conn, err := wire.Open(socket)
	if err != nil {
		return err
	}
	s := &server{conn: conn, requests: make(chan request)}
	go s.read()
	setup, files, err := s.setup()
	if err != nil {
		return err
	}
	if err := s.prepare(setup, files); err != nil {
		return s.fail(err)
	}
	for r := range s.requests {
		if r.Start == nil {
			return fmt.Errorf("unexpected message before a start")
		}
		if err := s.run(r.Start, r.files); err != nil {
			return err
		}
	}
	return nil
}

// request is one message of the broker with its descriptors.
type request struct {
	wire.Request
	files []*os.File
}

// server is the state of PID 1; everything but read runs on the main goroutine.
type server struct {
	conn     *wire.Conn
	requests chan request
	spawner  *spawner
}

// read passes the broker's messages on. The end of the connection ends this process at once, whatever it is doing.
func (s *server) read() {
	for {
		var r request
		files, err := s.conn.Receive(&r.Request)
		if err != nil {
			os.Exit(0)
		}
		r.files = files
		s.requests <- r
	}
}

// setup collects the descriptors and the setup itself.
func (s *server) setup() (*wire.Setup, []*os.File, error) {
	var files []*os.File
	for r := range s.requests {
		files = append(files, r.files...)
		switch {
		case r.Setup != nil:
			return r.Setup, files, nil
		case !r.Files:
			return nil, nil, errors.New("unexpected message before the setup")
		}
	}
	return nil, nil, errors.New("no setup came")
}

// prepare makes this process ready for runs and reports it.
func (s *server) prepare(setup *wire.Setup, files []*os.File) error {
	if err := name(setup.Hostname); err != nil {
		return err
	}
	if err := mounts.Assemble(setup.Layout, files); err != nil {
		return err
	}
	wire.CloseAll(files)
	var err error
	if s.spawner, err = newSpawner(setup); err != nil {
		return err
	}
	defer s.spawner.notify.Close()
	return s.conn.Send(wire.Reply{Ready: true}, s.spawner.notify)
}

// fail reports why this process cannot go on; it returns nil when the broker was told.
func (s *server) fail(err error) error {
	var f *wire.Failed
	if !errors.As(err, &f) {
		f = &wire.Failed{Stage: wire.StageNamespace, Detail: err.Error()}
	}
	return s.conn.Send(wire.Reply{Failed: f})
}
