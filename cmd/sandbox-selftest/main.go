//go:build linux

// Command sandbox-selftest runs the security matrix on this machine and prints what it saw.
//
// Started by root it runs twice, as root and as a user without account and privileges, to whom it gives a control group
// and the fixtures that only root can make. Started by anyone else it runs once, as that user.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/host"
	"sekisho/internal/sandbox/matrix"
	"sekisho/internal/sandbox/rootio"
	"sekisho/test/product"
)

// options are the command line. The last three are set by the root run for its other half.
type options struct {
	only   []string
	race   time.Duration
	dir    string
	given  string
	cgroup string
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, errs io.Writer) int {
	var o options
	fs := flag.NewFlagSet("sandbox-selftest", flag.ContinueOnError)
	fs.SetOutput(errs)
	only := fs.String("only", "", "rows to run, such as ST-02,AC-5; all without it")
	fs.DurationVar(&o.race, "race", 3*time.Second, "how long a race is run")
	fs.StringVar(&o.dir, "dir", "", "used by the root run")
	fs.StringVar(&o.given, "given", "", "used by the root run")
	fs.StringVar(&o.cgroup, "cgroup", "auto", "sandbox.resources.cgroup of the run")
	if err := fs.Parse(args); err != nil || fs.NArg() > 0 {
		return 2
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bin := &product.Bin{}
	defer bin.Close()
	var total tally
	var err error
	if os.Geteuid() == 0 {
		total, err = twice(ctx, o, bin, out, errs)
	} else {
		total, err = once(ctx, o, bin, out)
	}
	if err != nil {
		fmt.Fprintln(errs, "sandbox-selftest:", err)
	}
	if o.dir != "" {
		total.report(out)
		if err != nil {
			return 1
		}
		return 0
	}
	fmt.Fprintf(out, "\n%d passed, %d failed\n", total.passed, total.failed)
	if err != nil || total.failed > 0 || total.passed == 0 {
		return 1
	}
	return 0
}

// once runs the suite as the current user.
func once(ctx context.Context, o options, bin *product.Bin, out io.Writer) (t tally, err error) {
	program, err := bin.Build("cmd/agent-mcp")
	if err != nil {
		return t, err
	}
	payload, err := bin.Build("test/payload")
	if err != nil {
		return t, err
	}
	crashing, err := bin.Build("test/crash/server")
	if err != nil {
		return t, err
	}
	dir := o.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("/var/tmp", "sekisho-selftest-"); err != nil {
			return t, err
		}
		defer os.RemoveAll(dir)
		if err := os.Chmod(dir, 0o755); err != nil {
			return t, err
		}
	}
	backend, err := host.Open(host.Options{Program: program, Files: fileop.OS(), Cgroup: o.cgroup})
	if err != nil {
		return t, err
	}
	fmt.Fprintf(out, "\nSecurity matrix as %s\n", who())
	if err := backend.Preflight(ctx); err != nil {
		return t, fmt.Errorf("this machine cannot sandbox for %s: %w", who(), err)
	}
	stage := &stage{dir: dir, program: program, crashing: crashing, payload: payload, cgroup: o.cgroup}
	env := matrix.Env{
		Backend: backend, Payload: payload, Dir: dir, Cgroup: o.cgroup, Given: o.given, Only: o.only, Race: o.race,
		Instance: fmt.Sprintf("selftest-%d", os.Getpid()),
		Roots:    func(roots []sandbox.Root) (*rootio.Set, error) { return rootio.NewSet(fileop.OS(), roots, nil) },
		Extra:    stage.rows(),
	}
	matrix.Run(ctx, env, func(r matrix.Row) {
		t.add(r)
		printRow(out, r)
	})
	return t, ctx.Err()
}

func who() string {
	if os.Geteuid() == 0 {
		return "root"
	}
	return fmt.Sprintf("uid %d", os.Geteuid())
}
