//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"sekisho/test/product"
)

// bench is one run: where it works and how much it measures.
type bench struct {
	ctx context.Context
	bin product.Bin
	dir string // of this run, readable for every user
	// meter reads the CPU time of this process and everything it started.
	meter *meter
	// scale multiplies the numbers of pairs.
	scale float64
}

// section is a group of rows that can be chosen by name.
type section struct {
	name, title string
	run         func(*bench) error
}

var sections = []section{
	{"true", "a small program in the sandbox (A) : the same program, plain fork and exec (B)", (*bench).small},
	{"entries", "large programs in the sandbox, hashed when they changed (A) : plain fork and exec (B)", (*bench).large},
	{"bwrap", "`true` in a cold sandbox (A) : in bubblewrap with equal namespaces (B)", (*bench).bubblewrap},
	{"heap", "`true` in a cold sandbox of a process with a large heap (A) : of one with a small heap (B)", (*bench).heap},
	{"rivals", "`true` in a sandbox (A) : in the sandboxes of other programs, workspace writable and no network in both (B)", (*bench).rivals},
	{"forward", "what a program in a sandbox sends through a rule of its network (A) : the same program directly over loopback (B)", (*bench).forward},
	{"loop", "the agent's loop, per model call (A) : a bare HTTP client that sends the same requests (B)", (*bench).loop},
	{"start", "from start to first answer (A) : a bare SDK server that hashes the same files (B)", (*bench).start},
	{"requests", "requests on both transports, in both eras, each after the answer to the last: agent-mcp (A) : a bare SDK server (B)", (*bench).requests},
	{"many", "agent_run, 50 at a time", (*bench).many},
	{"memory", "memory of everything started, while nothing happens", (*bench).memory},
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == driver {
		if err := drive(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	only := flag.String("only", "", "comma-separated `sections`: "+strings.Join(sectionNames(), ", ")+" (default: all)")
	scale := flag.Float64("pairs", 1, "multiplies the numbers of pairs; never less than five are made")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *only, *scale); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, scale float64) (err error) {
	var names []string
	if only != "" {
		names = strings.Split(only, ",")
	}
	for _, n := range names {
		if !slices.ContainsFunc(sections, func(s section) bool { return s.name == n }) {
			return fmt.Errorf("there is no section %q", n)
		}
	}
	b := &bench{ctx: ctx, scale: scale}
	defer func() { err = errors.Join(err, b.bin.Close()) }()
	// Not below a directory that only its owner may enter: the sandbox's user must reach it.
	if b.dir, err = os.MkdirTemp("/var/tmp", "sekisho-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return err
	}
	if b.meter, err = newMeter(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.meter.close()) }()
	b.header()
	var failures []error
	for _, s := range sections {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		fmt.Printf("\n%s\n", s.title)
		if err := s.run(b); err != nil {
			fmt.Printf("  %-34s %v\n", "FAILED", err)
			failures = append(failures, fmt.Errorf("%s: %w", s.name, err))
		}
		if err := ctx.Err(); err != nil {
			return errors.Join(append(failures, err)...)
		}
	}
	return errors.Join(failures...)
}

func sectionNames() (names []string) {
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

// pairs scales a number of pairs.
func (b *bench) pairs(n int) int { return max(5, int(float64(n)*b.scale)) }
