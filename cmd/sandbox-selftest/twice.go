//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sekisho/internal/sandbox/matrix"
	"sekisho/test/delegate"
	"sekisho/test/product"
)

// other is a user without account and privileges.
const other = 65501

// twice runs the suite as root and, by a copy of this program, as other.
func twice(ctx context.Context, o options, bin *product.Bin, out, errs io.Writer) (t tally, err error) {
	base, err := os.MkdirTemp("/var/tmp", "sekisho-selftest-")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	if err := os.Chmod(base, 0o755); err != nil {
		return t, err
	}
	for _, uid := range []int{0, other} {
		given := filepath.Join(base, fmt.Sprintf("given-%d", uid))
		work := filepath.Join(base, fmt.Sprintf("work-%d", uid))
		if err := errors.Join(os.Mkdir(given, 0o755), os.Mkdir(work, 0o755), os.Chown(work, uid, uid)); err != nil {
			return t, err
		}
		release, err := matrix.MakeGiven(given, uid, uid)
		if err != nil {
			return t, fmt.Errorf("making the protected fixtures: %w", err)
		}
		half := o
		half.dir, half.given = work, given
		var part tally
		if uid == 0 {
			part, err = once(ctx, half, bin, out)
		} else {
			part, err = asOther(ctx, half, bin, out, errs)
		}
		t.passed, t.failed = t.passed+part.passed, t.failed+part.failed
		if err = errors.Join(err, release()); err != nil {
			return t, err
		}
	}
	return t, nil
}

// asOther runs this program as other, with a control group of its own.
func asOther(ctx context.Context, o options, bin *product.Bin, out, errs io.Writer) (t tally, err error) {
	group, err := delegate.Give(other)
	if err != nil {
		return t, fmt.Errorf("giving the unprivileged user a control group: %w", err)
	}
	defer func() { err = errors.Join(err, group.Remove()) }()
	program, err := bin.Build("cmd/agent-mcp")
	if err != nil {
		return t, err
	}
	self := filepath.Join(filepath.Dir(program), "sandbox-selftest")
	if err := copySelf(self); err != nil {
		return t, err
	}
	args := []string{"-dir", o.dir, "-given", o.given, "-cgroup", group.Setting, "-race", o.race.String(), "-only", strings.Join(o.only, ",")}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), product.Env+"="+filepath.Dir(program), "HOME="+o.dir, "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other, Groups: []uint32{}}}
	if group.Home != "" {
		home, err := os.Open(group.Home)
		if err != nil {
			return t, err
		}
		defer home.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(home.Fd())
	}
	cmd.Stderr = errs
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return t, err
	}
	if err := cmd.Start(); err != nil {
		return t, err
	}
	counted := false
	for r := bufio.NewReader(lines); ; {
		line, err := r.ReadString('\n')
		if _, serr := fmt.Sscanf(line, countsLine, &t.passed, &t.failed); serr == nil {
			counted = true
		} else {
			io.WriteString(out, line)
		}
		if err != nil {
			break
		}
	}
	err = cmd.Wait()
	if !counted {
		return t, fmt.Errorf("the run as uid %d ended early: %w", other, err)
	}
	return t, nil
}

func copySelf(to string) error {
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}
