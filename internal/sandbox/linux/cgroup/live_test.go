//go:build linux

package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/test/delegate"
)

var errBusy = unix.EBUSY

const (
	helperEnv = "SEKISHO_CGROUP_HELPER"
	// stranger is a user without account and without privileges.
	stranger = 65501
)

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "":
		os.Exit(m.Run())
	case "eat": // waits for its turn, then touches 256 MiB page by page
		bufio.NewReader(os.Stdin).ReadString('\n')
		b := make([]byte, 256<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		fmt.Println("ate", len(b))
	case "user":
		if err := asUser(os.Getenv("SEKISHO_CGROUP_PATH")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ok")
	}
	os.Exit(0)
}

// applied makes a task's group on this machine, or returns nil after checking the refusal where that is not possible.
func applied(t *testing.T, task string) (Group, []sandbox.Undo, *Steps) {
	t.Helper()
	d, err := Select("auto", fileop.OS())
	if err != nil {
		if f := fault.As(err); f == nil || f.Code != fault.ResourceMemoryUnenforceable || f.Args["command"] == "" {
			t.Fatalf("a machine without control groups: got %v", err)
		}
		t.Logf("no control group for this user here, only the refusal was checked: %v", err)
		return nil, nil, nil
	}
	t.Log(d)
	g, undos, s, err := apply(t.Context(), d, task)
	t.Cleanup(func() {
		if g != nil {
			g.Close()
		}
		revert(t, s, undos)
	})
	if err != nil {
		t.Fatal(err)
	}
	return g, undos, s
}

func apply(c context.Context, d Driver, task string) (Group, []sandbox.Undo, *Steps, error) {
	s := NewSteps(fileop.OS())
	steps, err := d.Plan("test"+strconv.Itoa(os.Getpid()), task)
	var undos []sandbox.Undo
	for _, step := range steps {
		u, err := s.Observe(c, step)
		if err != nil {
			return nil, undos, s, err
		}
		undos = append(undos, u)
		for range 2 {
			if err := s.Apply(c, step, u); err != nil {
				return nil, undos, s, err
			}
		}
	}
	if err != nil {
		return nil, undos, s, err
	}
	g, err := d.Group(undos)
	return g, undos, s, err
}

func revert(t *testing.T, s *Steps, undos []sandbox.Undo) {
	t.Helper()
	for i := len(undos) - 1; i >= 0; i-- {
		u, err := decodeUndo(undos[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Revert(context.Background(), undos[i]); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(u.String()); !os.IsNotExist(err) {
			t.Errorf("%v is still there: %v", u.place, err)
		}
	}
}

// launch runs a program that waits for its end of input.
func launch(t *testing.T, path string, args ...string) (*exec.Cmd, io.WriteCloser) {
	t.Helper()
	cmd := exec.Command(path, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	return cmd, in
}

// proves A-SBX-02, A-TX-01
func TestGroupOnThisMachine(t *testing.T) {
	g, undos, s := applied(t, "whole")
	if g == nil {
		return
	}
	for _, mb := range []int{64, 512, 32} { // up and down
		if err := g.SetLimits(mb, 2); err != nil {
			t.Fatal(err)
		}
	}
	tree, _ := launch(t, "/bin/sh", "-c", "trap '' TERM; cat & cat & cat; wait")
	if err := g.Add(tree.Process.Pid); err != nil {
		t.Fatal(err)
	}
	procs, err := g.Procs()
	if err != nil || !slices.Contains(procs, tree.Process.Pid) {
		t.Fatalf("inside are %v, %v", procs, err)
	}
	membership, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", tree.Process.Pid))
	if err != nil || strings.Count(string(membership), "-whole\n") != len(undos) {
		t.Errorf("the kernel's view: %s %v", membership, err)
	}
	if err := g.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if procs, err = g.Procs(); len(procs) != 0 || err != nil {
		t.Errorf("after Kill: %v, %v", procs, err)
	}
	if err := tree.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("Kill left the process: %v", err)
	}
	keep, _ := launch(t, "/bin/cat")
	if err := g.Add(keep.Process.Pid); err != nil {
		t.Fatal(err)
	}
	select {
	case <-g.OOM():
		t.Error("reported out of memory")
	default:
	}
	g.Close()
	revert(t, s, undos) // with a process inside
	if err := keep.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("Revert left the process: %v", err)
	}
	select {
	case <-g.OOM():
		t.Error("removing the group counts as out of memory")
	default:
	}
}

// proves A-SBX-02
func TestForkBombEnds(t *testing.T) {
	g, _, _ := applied(t, "bomb")
	if g == nil {
		return
	}
	if err := g.SetLimits(256, 1); err != nil { // at most 64 tasks and a few at a time
		t.Fatal(err)
	}
	// Forty sleepers stay whatever happens to the bomb, whose forks fail at the group's limit of tasks: a shell that cannot fork
	// ends, so the bomb alone might be over before it is looked at. Each shell forks two until depth 40.
	bomb, in := launch(t, "/bin/sh", "-c", `read x
i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); done
b() { [ $1 -gt 40 ] && return; b $(($1+1)) & b $(($1+1)) & wait; }
b 0 2>/dev/null & wait`)
	if err := g.Add(bomb.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if starved, err := g.Starved(); err != nil || starved {
		t.Errorf("starved before anything was started: %v, %v", starved, err)
	}
	io.WriteString(in, "go\n")
	deadline := time.Now().Add(time.Minute)
	starved := false
	for n := 0; n < 40 || !starved; {
		var err error
		if starved, err = g.Starved(); err != nil {
			t.Fatal(err)
		}
		procs, err := g.Procs()
		if err != nil {
			t.Fatal(err)
		}
		if n = len(procs); time.Now().After(deadline) {
			t.Fatalf("only %d processes after a minute, starved %v", n, starved)
		}
	}
	if err := g.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if procs, err := g.Procs(); err != nil || len(procs) != 0 {
		t.Errorf("left: %v, %v", procs, err)
	}
}

// proves A-SBX-02
func TestOutOfMemoryIsReported(t *testing.T) {
	g, _, _ := applied(t, "oom")
	if g == nil {
		return
	}
	if err := g.SetLimits(48, 4); err != nil {
		t.Fatal(err)
	}
	t.Setenv(helperEnv, "eat")
	eater, in := launch(t, "/proc/self/exe")
	if err := g.Add(eater.Process.Pid); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, "go\n")
	if err := eater.Wait(); err == nil {
		t.Error("a process used five times the limit")
	}
	select {
	case <-g.OOM():
	case <-time.After(10 * time.Second):
		t.Error("out of memory was not reported")
	}
}

// proves A-SBX-02, A-TX-06
//
// A user without privileges uses directories that an administrator gave it. Run by another user it only checks that a
// directory that this user cannot write is refused.
func TestAnotherUsersDirectories(t *testing.T) {
	if os.Geteuid() != 0 {
		if _, err := Select("/sys/fs/cgroup", fileop.OS()); fault.As(err) == nil {
			t.Errorf("the root group was taken: %v", err)
		}
		return
	}
	d, err := Select("auto", fileop.OS())
	if err != nil {
		t.Logf("no control groups here: %v", err)
		return
	}
	group, err := delegate.Give(stranger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Remove(); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	for path, want := range map[string]string{group.Setting: "ok", d.(*driver).places[0].Parent: string(fault.ResourceMemoryUnenforceable)} {
		cmd := exec.Command("/proc/self/fd/3")
		cmd.ExtraFiles = []*os.File{self}
		cmd.Dir = "/"
		cmd.Env = []string{helperEnv + "=user", "SEKISHO_CGROUP_PATH=" + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
		if group.Home != "" { // version 2 moves processes only inside what was given
			home, err := os.Open(group.Home)
			if err != nil {
				t.Fatal(err)
			}
			defer home.Close()
			cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(home.Fd())
		}
		out, _ := cmd.CombinedOutput()
		if !strings.HasPrefix(string(out), want) {
			t.Errorf("%s: got %s, want %s", path, out, want)
		}
	}
}

// asUser does everything once with a configured directory.
func asUser(path string) error {
	d, err := Select(path, fileop.OS())
	if err != nil {
		return err
	}
	g, undos, s, err := apply(context.Background(), d, "user")
	if err == nil {
		err = g.SetLimits(64, 2)
	}
	var cat *exec.Cmd
	if err == nil {
		cat = exec.Command("/bin/cat")
		cat.StdinPipe()
		err = cat.Start()
	}
	if err == nil {
		err = g.Add(cat.Process.Pid)
	}
	if err == nil {
		err = g.Kill(context.Background())
	}
	if g != nil {
		g.Close()
	}
	for i := len(undos) - 1; i >= 0; i-- {
		err = errors.Join(err, s.Revert(context.Background(), undos[i]))
	}
	return err
}
