//go:build linux

package launcher

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox/linux/initproc"
	"sekisho/internal/sandbox/linux/wire"
)

// Marker is argv[0] of the launcher. Started with it by anyone else, the program finds no packet socket and ends.
const Marker = "sekisho-sandbox-launcher"

// ProbeMarker is argv[0] of the program when preflight runs it inside a throw-away sandbox: it ends at once, with success.
const ProbeMarker = "sekisho-sandbox-probe"

// control is the descriptor that the server put there.
const control = 3

// environment is what the launcher runs with.
func environment() []string {
	return []string{"GODEBUG=containermaxprocs=0,updatemaxprocs=0", "GOMAXPROCS=1", "GOTRACEBACK=none"}
}

// init is where the launcher lives and ends; main never runs in it. Go initializes packages by their dependencies and then by
// name: the network, the MCP SDK and others that it never uses would come later. What they make would be copied into
// every sandbox.
func init() {
	if len(os.Args) != 1 || os.Args[0] != Marker {
		return
	}
	if serve() != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// Child reports whether this process was started by preflight inside a throw-away sandbox: then it has nothing to do.
func Child() bool { return len(os.Args) == 1 && os.Args[0] == ProbeMarker }

// serve makes one PID 1 after another until the server is gone.
func serve() error {
	if err := closeInherited(); err != nil {
		return err
	}
	conn, err := wire.OpenThread(control)
	if err != nil {
		return err
	}
	// Children that end leave nothing behind; who wants to know has a descriptor of them.
	action := [4]uint64{ignore}
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0); errno != 0 {
		return errno
	}
	limits, err := initproc.Limits()
	if err != nil {
		return err
	}
	own, err := initproc.Lean(0)
	if err != nil {
		return err
	}
	for {
		l, files, err := receive(conn)
		if err != nil {
			if errors.Is(err, os.ErrClosed) {
				err = nil
			}
			return err
		}
		if own, err = initproc.Lean(own); err != nil {
			wire.CloseAll(files)
			return err
		}
		pid, pidfd, block, err := launch(l, files, limits)
		err = answer(conn, pid, pidfd, err)
		wire.CloseAll(files) // nobody waits for that any more
		if block != nil {
			err = errors.Join(err, block.Close())
		}
		if err != nil {
			return err
		}
	}
}

// ignore is SIG_IGN.
const ignore = 1

// receive collects one request with all its descriptors.
func receive(conn *wire.Conn) (*wire.Launch, []*os.File, error) {
	var files []*os.File
	for {
		var l wire.Launch
		more, err := conn.Receive(&l)
		files = append(files, more...)
		if err != nil || len(files) > mostFiles {
			wire.CloseAll(files)
			return nil, nil, errors.Join(err, os.ErrClosed)
		}
		if !l.Ahead {
			return &l, files, nil
		}
	}
}

// mostFiles bounds the descriptors of one request.
const mostFiles = 64 * wire.MaxFiles

func answer(conn *wire.Conn, pid int, pidfd *os.File, err error) error {
	if err == nil {
		defer pidfd.Close()
		return conn.Send(&wire.Launched{PID: pid}, pidfd)
	}
	var f *wire.Failed
	if !errors.As(err, &f) {
		f = wire.Fail(wire.StageClone, "launcher", err)
	}
	return conn.Send(&wire.Launched{Failed: f})
}

// closeInherited is the first thing the launcher does: it closes what the server's own parent may have leaked, so that no sandbox
// inherits it. The runtime has opened nothing yet.
func closeInherited() error {
	if err := unix.CloseRange(control+1, ^uint(0)>>32, 0); err != nil {
		return fmt.Errorf("close_range: %w", err)
	}
	return nil
}

// kill ends a process that was just made.
func kill(pidfd int) {
	unix.PidfdSendSignal(pidfd, syscall.SIGKILL, nil, 0)
	unix.Close(pidfd)
}
