//go:build linux

package filter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// run starts the helper, serves its forks and returns its output. A count that fails ends the serving.
func run(t *testing.T, limit int, count error, mode string, args ...string) (out string, exceeded int, err error) {
	t.Helper()
	if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); err != nil {
		t.Fatalf("this kernel does not tell the children of a thread (CONFIG_PROC_CHILDREN): %v", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", 0, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	ours := os.NewFile(uintptr(pair[0]), "ours")
	defer ours.Close()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), helperEnv+"="+mode)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", 0, err
	}
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	theirs.Close()
	notify, err := receive(ours)
	if err != nil {
		cmd.Wait()
		return "", 0, err
	}
	report := make(chan struct{}, 1)
	served := make(chan error, 1)
	polled := make(chan struct{}, 1)
	looks, grown := 0, 0
	if mode == "silent" { // only looks at the whole tree tell
		if grown, err = strconv.Atoi(args[0]); err != nil {
			return "", 0, err
		}
		grown++ // the one that asks
	}
	forks, err := Listen(notify, func() ([]int, error) {
		pids := descendants(cmd.Process.Pid)
		if len(pids) >= grown {
			if looks++; looks == 20 {
				polled <- struct{}{}
			}
		}
		return pids, count
	}, limit, report)
	if err != nil {
		t.Fatal(err)
	}
	go func() { served <- serve(forks) }()
	ended := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(ended)
		if mode != "silent" && mode != "run" {
			return
		}
		// Ended as the broker would: at an excess, or when nothing of that kind was seen for a while.
		select {
		case <-report:
			exceeded++
		case <-polled:
			if mode == "run" {
				return
			}
		case <-done:
			return
		}
		for _, pid := range descendants(cmd.Process.Pid) {
			unix.Kill(pid, unix.SIGKILL)
		}
		unix.Shutdown(int(ours.Fd()), unix.SHUT_RDWR)
	}()
	b, err := io.ReadAll(stdout)
	close(done)
	<-ended
	if err != nil {
		return "", 0, err
	}
	werr := cmd.Wait()
	if serr := <-served; serr != nil && !errors.Is(serr, count) {
		t.Errorf("serving forks: %v", serr)
	}
	return string(b), exceeded + len(report), werr
}

// serve answers until the last restricted process is gone.
func serve(f *Forks) error {
	defer f.Close()
	for !f.listener.over {
		fd, wait := f.Next()
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		limit := unix.NsecToTimespec(wait.Nanoseconds())
		if _, err := unix.Ppoll(poll, &limit, nil); err != nil && err != unix.EINTR {
			return err
		}
		if err := f.Serve(context.Background(), poll[0].Revents); err != nil {
			return err
		}
	}
	return nil
}

func receive(from *os.File) (*os.File, error) {
	conn, err := net.FileConn(from)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return nil, err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(msgs) != 1 {
		return nil, fmt.Errorf("no descriptor came: %v", err)
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "listener"), nil
}

// descendants lists the living processes below pid; one whose parent is gone is nobody's. It asks for the children of each
// thread: reading what all processes of the machine say of their parents took, with the race detector, more than the share of a
// processor that a server of forks may take, and every fork waited.
func descendants(pid int) (all []int) {
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		dir := fmt.Sprint("/proc/", todo[0], "/task/")
		threads, _ := os.ReadDir(dir) // it ended
		for _, thread := range threads {
			children, _ := os.ReadFile(dir + thread.Name() + "/children")
			for _, child := range strings.Fields(string(children)) {
				if p, err := strconv.Atoi(child); err == nil && lives(p) {
					all, todo = append(all, p), append(todo, p)
				}
			}
		}
	}
	return all
}

// lives reports whether a process is there and has not ended.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprint("/proc/", pid, "/stat"))
	state := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return err == nil && len(state) > 0 && state[0] != "Z" && state[0] != "X"
}
