//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"sekisho/test/asuser"
	"sekisho/test/product"
)

// runner is one run as one user.
type runner struct {
	program, payload string // the product and the hostile program
	dir, cgroup      string // fixtures; sandbox.resources.cgroup
	only             []string
	race             time.Duration
	out              io.Writer
	counts
}

// counts are rows by what came of them.
type counts struct{ passed, failed, blocked int }

const countsLine = "counts: %d %d %d\n"

func (c *counts) add(o counts) {
	c.passed, c.failed, c.blocked = c.passed+o.passed, c.failed+o.failed, c.blocked+o.blocked
}

func main() {
	program := flag.String("program", "bin/agent-mcp", "the built product")
	cases := flag.String("cases", "docs/cases/sandbox-attacks.md", "the list of attack cases")
	only := flag.String("only", "", "comma-separated numbers of cases (default: all)")
	race := flag.Duration("race", 10*time.Second, "how long names are swapped (case 5)")
	cgroup := flag.String("cgroup", "auto", "sandbox.resources.cgroup")
	try := flag.String("try", "", "only run this shell `script` inside and print what came of it")
	dir := flag.String("dir", "", "used by the root run for its other half")
	inside := flag.Bool("inside", false, "used by root's run for its own network namespace")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &runner{race: *race, cgroup: *cgroup, out: os.Stdout}
	if *only != "" {
		r.only = strings.Split(*only, ",")
	}
	var err error
	switch {
	case *dir != "":
		r.dir = *dir
		if err = r.half(ctx, *try); err == nil {
			fmt.Printf(countsLine, r.passed, r.failed, r.blocked)
			return // the root run adds it up
		}
	case os.Geteuid() == 0 && !*inside:
		// Root's attempts, and those of the ordinary user that it starts, have the loopback for themselves.
		if err = ownNetwork(ctx); err != nil {
			os.Exit(1)
		}
		return
	default:
		if *inside {
			if err = furnish(); err != nil {
				break
			}
		}
		err = r.all(ctx, *program, *cases, *try)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
	if *try != "" {
		return
	}
	fmt.Printf("%d blocked, with the reason in their lines\n%d passed, %d failed\n", r.blocked, r.passed, r.failed)
	if r.failed > 0 || r.passed == 0 {
		os.Exit(1)
	}
}

// all runs everything as this user and, when that is root, as an ordinary one.
func (r *runner) all(ctx context.Context, program, cases, try string) (err error) {
	if err := r.listed(cases); err != nil && try == "" && len(r.only) == 0 {
		return err
	}
	var bin product.Bin
	defer func() { err = errors.Join(err, bin.Close()) }()
	payload, err := bin.Build("test/payload")
	if err != nil {
		return err
	}
	// The directory of a work tree may be closed to others; a copy of the very file is not.
	bins := filepath.Dir(payload)
	if err := copyFile(program, bins+"/agent-mcp"); err != nil {
		return err
	}
	base, err := os.MkdirTemp("/var/tmp", "sekisho-attack-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	if err := os.Chmod(base, 0o755); err != nil {
		return err
	}
	os.Setenv(product.Env, bins)
	r.dir = base + "/own"
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.Join(r.half(ctx, try), ctx.Err())
	}
	// Both at once: most of the time an attempt waits for what must not happen. The ordinary user's lines follow root's.
	var lines bytes.Buffer
	second := &runner{only: r.only, race: r.race, out: &lines}
	ended := make(chan error, 1)
	go func() { ended <- second.other(ctx, bins, base+"/other", try) }()
	err = errors.Join(r.half(ctx, try), <-ended, ctx.Err())
	r.out.Write(lines.Bytes())
	r.add(second.counts)
	return err
}

// other runs the same as an ordinary user and adds up its rows.
func (r *runner) other(ctx context.Context, bins, dir, try string) error {
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, asuser.Other, asuser.Other)); err != nil {
		return err
	}
	in, out := io.Pipe()
	read := make(chan bool)
	go func() {
		counted := false
		var c counts
		lines := bufio.NewScanner(in)
		for lines.Buffer(nil, 1<<20); lines.Scan(); {
			if _, err := fmt.Sscanf(lines.Text()+"\n", countsLine, &c.passed, &c.failed, &c.blocked); err == nil {
				counted = true
				r.add(c)
			} else {
				fmt.Fprintln(r.out, lines.Text())
			}
		}
		io.Copy(io.Discard, in)
		read <- counted
	}()
	err := asuser.Self(ctx, asuser.Options{Bin: bins, Name: "attack", Dir: dir, Stdout: out, Stderr: os.Stderr, Args: func(cgroup string) []string {
		return []string{"-dir", dir, "-cgroup", cgroup, "-race", r.race.String(), "-only", strings.Join(r.only, ","), "-try", try}
	}})
	out.Close()
	if !<-read && err == nil {
		err = fmt.Errorf("the run as uid %d told no counts", asuser.Other)
	}
	return err
}

var caseLine = regexp.MustCompile(`(?m)^(\d+)\. `)

// listed compares the list of cases with what is here: a case without an attempt is a failure, and so is an attempt without a case.
func (r *runner) listed(cases string) error {
	text, err := os.ReadFile(cases)
	if err != nil {
		return err
	}
	var want, have []string
	for _, m := range caseLine.FindAllStringSubmatch(string(text), -1) {
		want = append(want, m[1])
	}
	for _, c := range attacks {
		have = append(have, c.id)
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, slices.Compact(have)) || len(want) == 0 {
		return fmt.Errorf("%s lists the cases %v, and there are attempts for %v", cases, want, slices.Compact(have))
	}
	return nil
}

// half runs all cases as the current user.
func (r *runner) half(ctx context.Context, try string) error {
	var bin product.Bin // finds what was built
	var err error
	if r.program, err = bin.Build("agent-mcp"); err != nil {
		return err
	}
	if r.payload, err = bin.Build("payload"); err != nil {
		return err
	}
	if try != "" {
		return r.attempt(ctx, try)
	}
	for _, c := range attacks {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(r.only) == 0 || slices.Contains(r.only, c.id) {
			r.play(ctx, c)
		}
	}
	return nil
}

func who() string {
	if os.Geteuid() == 0 {
		return "root"
	}
	return fmt.Sprintf("uid %d", os.Geteuid())
}
