//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// attempting is the other process, of the user in question.
type attempting struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *bufio.Scanner
	end io.Closer
}

func start(ctx context.Context, args []string) (*attempting, error) {
	uid, err := strconv.Atoi(args[1])
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{roleAttempt}, args[:6]...)...)
	cmd.Stderr = os.Stderr
	cmd.Dir = args[2]
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), Groups: []uint32{}}}
	if args[6] != "" && uid != 0 {
		home, err := os.Open(args[6])
		if err != nil {
			return nil, err
		}
		defer home.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(home.Fd())
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &attempting{cmd, json.NewEncoder(in), bufio.NewScanner(out), in}, nil
}

func (a *attempting) do(o order) (got answer, err error) {
	if err := a.in.Encode(o); err != nil {
		return got, err
	}
	if !a.out.Scan() {
		return got, errors.New("the attempting process ended")
	}
	if err := json.Unmarshal(a.out.Bytes(), &got); err != nil {
		return got, fmt.Errorf("%q: %w", a.out.Bytes(), err)
	}
	if got.Err != "" {
		return got, errors.New(got.Err)
	}
	return got, nil
}

func (a *attempting) close() {
	a.end.Close()
	a.cmd.Wait()
}
