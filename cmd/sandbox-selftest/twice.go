//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sekisho/internal/sandbox/matrix"
	"sekisho/test/asuser"
	"sekisho/test/product"
)

// twice runs the suite as root and, by a copy of this program, as asuser.Other.
func twice(ctx context.Context, o options, bin *product.Bin, out, errs io.Writer) (t tally, err error) {
	base, err := os.MkdirTemp("/var/tmp", "sekisho-selftest-")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	if err := os.Chmod(base, 0o755); err != nil {
		return t, err
	}
	for _, uid := range []int{0, asuser.Other} {
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

// asOther runs this program as asuser.Other; what it prints goes through, but for its counts.
func asOther(ctx context.Context, o options, bin *product.Bin, out, errs io.Writer) (t tally, err error) {
	program, err := bin.Build("cmd/agent-mcp")
	if err != nil {
		return t, err
	}
	r, w := io.Pipe()
	read := make(chan bool)
	go func() {
		counted := false
		for lines := bufio.NewReader(r); ; {
			line, err := lines.ReadString('\n')
			if _, serr := fmt.Sscanf(line, countsLine, &t.passed, &t.failed); serr == nil {
				counted = true
			} else {
				io.WriteString(out, line)
			}
			if err != nil {
				break
			}
		}
		read <- counted
	}()
	err = asuser.Self(ctx, asuser.Options{Bin: filepath.Dir(program), Name: "sandbox-selftest", Dir: o.dir, Stdout: w, Stderr: errs, Args: func(cgroup string) []string {
		return []string{"-dir", o.dir, "-given", o.given, "-cgroup", cgroup, "-race", o.race.String(), "-only", strings.Join(o.only, ",")}
	}})
	w.Close()
	if !<-read && err == nil {
		err = errors.New("it told no counts")
	}
	if err != nil {
		err = fmt.Errorf("the run as uid %d: %w", asuser.Other, err)
	}
	return t, err
}
