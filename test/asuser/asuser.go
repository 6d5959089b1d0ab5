//go:build linux

// Package asuser runs a copy of the calling program as a user without account and privileges, to whom root gives a control
// group: what a command tries as root it then tries as an ordinary user, too.
package asuser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"sekisho/test/delegate"
	"sekisho/test/product"
)

// Other is that user; its group has the same number.
const Other = 65501

// Options say what is run.
type Options struct {
	// Bin is a directory with the product's programs that everyone can enter; the copy is put there under Name.
	Bin, Name string
	// Dir is the user's own: working directory and HOME.
	Dir string
	// Args are the arguments, given what the user writes into sandbox.resources.cgroup.
	Args           func(cgroup string) []string
	Stdout, Stderr io.Writer
}

// Self runs the copy to its end and takes the control group away. It needs root.
func Self(ctx context.Context, o Options) (err error) {
	group, err := delegate.Give(Other)
	if err != nil {
		return fmt.Errorf("giving the unprivileged user a control group: %w", err)
	}
	defer func() { err = errors.Join(err, group.Remove()) }()
	self := filepath.Join(o.Bin, o.Name)
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := write(self, program); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, o.Args(group.Setting)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Dir = o.Dir
	cmd.Env = append(os.Environ(), product.Env+"="+o.Bin, "HOME="+o.Dir, "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Other, Gid: Other, Groups: []uint32{}}}
	if group.Home != "" {
		home, err := os.Open(group.Home)
		if err != nil {
			return err
		}
		defer home.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(home.Fd())
	}
	cmd.Stdout, cmd.Stderr = o.Stdout, o.Stderr
	return cmd.Run()
}

// write makes a program. Others of this process may start programs at the same time: a child that was forked while this file is open for
// writing keeps it open until its exec, and meanwhile nobody can execute it (ETXTBSY).
func write(path string, program []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, program, 0o755)
}
