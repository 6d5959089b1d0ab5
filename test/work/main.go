//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// job is one piece of work.
type job struct {
	name string
	// prepare makes its directory in the workspace; nil when an earlier job did.
	prepare func(dir string) error
	// dir is that directory's name; "" means name.
	dir   string
	steps []step
	// judge looks at the directory afterwards and says in a few words what was seen. results are those of the steps.
	judge func(dir string, results []result) (string, error)
	// cancel is a file below the directory; when it is there the client cancels the task.
	cancel string
	// registry tells that it needs the npm registry.
	registry bool
}

// step is one call of process_run.
type step struct {
	program string
	args    []string
	stdin   string
	// fails is a part of the output of a program that must fail; "" means that it must succeed.
	fails string
}

func run(program string, args ...string) step { return step{program: program, args: args} }

func main() {
	only := flag.String("only", "", "comma-separated `names` of jobs (default: all)")
	cgroup := flag.String("cgroup", "auto", "sandbox.resources.cgroup")
	keep := flag.Bool("keep", false, "keep the stage")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := work(ctx, *only, *cgroup, *keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "work:", err)
	}
	if err != nil || failed > 0 {
		os.Exit(1)
	}
}

// work does the jobs one after another in one server, as a session of work does.
func work(ctx context.Context, only, cgroup string, keep bool) (failed int, err error) {
	jobs := slices.DeleteFunc(jobs(), func(j job) bool { return only != "" && !slices.Contains(strings.Split(only, ","), j.name) })
	s, err := newStage(ctx, jobs, cgroup)
	if s != nil {
		defer func() {
			if cerr := s.close(keep); err == nil {
				err = cerr
			}
		}()
	}
	if err != nil {
		return 0, err
	}
	passed := 0
	for _, j := range jobs {
		begun := time.Now()
		said, err := s.do(ctx, j)
		if err != nil {
			failed++
			fmt.Printf("FAIL %-14s %5.1f s  %s\n", j.name, time.Since(begun).Seconds(), strings.ReplaceAll(err.Error(), "\n", "\n     "))
			continue
		}
		passed++
		fmt.Printf("ok   %-14s %5.1f s  %s\n", j.name, time.Since(begun).Seconds(), said)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	return failed, nil
}
