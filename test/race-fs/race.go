//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sekisho/internal/agent"
	"sekisho/test/product"
)

type args = map[string]any

// attempt is one way to use a swapped name.
type attempt struct {
	name, tool string
	args       args
	// before prepares the next call outside the swapped names.
	before func(v *world) error
}

func edit(path, operation string, more args) args {
	a := args{"path": path, "operation": operation}
	for k, v := range more {
		a[k] = v
	}
	return a
}

var attempts = []attempt{
	{"file_read below the directory", agent.ToolFileRead, args{"path": "d/s", "mode": "whole"}, nil},
	{"file_read of the file", agent.ToolFileRead, args{"path": "f", "mode": "range", "start": 0, "length": 100}, nil},
	{"file_read metadata", agent.ToolFileRead, args{"path": "d/s", "mode": "metadata"}, nil},
	{"file_search in the directory", agent.ToolFileSearch, args{"root": "d", "mode": "text", "query": "S"}, nil},
	{"file_search in the workspace", agent.ToolFileSearch, args{"root": ".", "mode": "regex", "query": "."}, nil},
	{"file_search tail", agent.ToolFileSearch, args{"root": "f", "mode": "tail", "query": "", "tail_lines": 5}, nil},
	{"dir list", agent.ToolDir, args{"path": "d", "operation": "list"}, nil},
	{"dir mkdir", agent.ToolDir, args{"path": "d/sub/sub", "operation": "mkdir"}, nil},
	{"dir rmdir", agent.ToolDir, args{"path": "d/sub/sub", "operation": "rmdir"}, nil},
	{"file_edit overwrite, new", agent.ToolFileEdit, edit("d/new", "overwrite", args{"content": "x"}), nil},
	{"file_edit overwrite", agent.ToolFileEdit, edit("d/s", "overwrite", args{"content": "harmless\n"}), nil},
	{"file_edit patch", agent.ToolFileEdit, edit("d/s", "patch", args{"patch": `{"old_text":"harmless","new_text":"harmless"}`}), nil},
	{"file_edit atomic_replace", agent.ToolFileEdit, edit("f", "atomic_replace", args{"content": "harmless\n"}), nil},
	{"file_edit rename into it", agent.ToolFileEdit, edit("own", "rename", args{"new_path": "d/moved"}),
		func(v *world) error { return os.WriteFile(v.w+"/own", []byte("own"), 0o644) }},
	{"file_edit rename out of it", agent.ToolFileEdit, edit("d/moved", "rename", args{"new_path": "back"}), func(v *world) error { os.Remove(v.w + "/back"); return nil }},
	{"file_edit delete", agent.ToolFileEdit, edit("d/new", "delete", nil), nil},
	{"process_run in the directory", agent.ToolProcessRun, args{"executable": "sh", "args": []string{"-c", "cat s ../f; echo x >made; echo x >>s2"}, "cwd": "d"}, nil},
	{"process_run of a program in it", agent.ToolProcessRun, args{"executable": "d/prog", "args": []string{}, "cwd": "."}, nil},
	{"process_run by its own path", agent.ToolProcessRun, args{"executable": "./prog", "args": []string{}, "cwd": "d"}, nil},
}

// count is what came of the calls of one attempt.
type count struct{ calls, allowed, refused, leaks int }

// race runs control and attempts for d together, prints the counts to w and returns how many checks failed.
func race(ctx context.Context, d time.Duration, w io.Writer) (failed int, err error) {
	dir, err := os.MkdirTemp("/var/tmp", "race-fs-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return 0, err
	}
	passed := 0
	check := func(ok bool, format string, a ...any) {
		verdict := "passed"
		if ok {
			passed++
		} else {
			failed++
			verdict = "FAILED"
		}
		fmt.Fprintf(w, "%s  %s\n", verdict, fmt.Sprintf(format, a...))
	}
	c, err := control(ctx, filepath.Join(dir, "twin"), min(d/6, 10*time.Second))
	if err != nil {
		return 0, fmt.Errorf("the control: %w", err)
	}
	check(c.reads > 0, "control: the careless way read the secret %d times in %d tries (0 would show nothing)", c.reads, c.tries)
	check(c.writes > 0, "control: the careless way wrote outside %d times", c.writes)

	var bin product.Bin
	defer bin.Close()
	v, err := open(ctx, &bin, filepath.Join(dir, "real"))
	if err != nil {
		return 0, err
	}
	counts, swaps, err := v.attack(ctx, d)
	if err = errors.Join(err, v.close()); err != nil {
		return 0, err
	}
	for i, a := range attempts {
		n := counts[i]
		check(n.leaks == 0 && n.calls > 0 && n.calls == n.allowed+n.refused, "%-32s %6d calls, %6d done, %6d refused, %d bytes of the secret", a.name, n.calls, n.allowed, n.refused, n.leaks)
	}
	done, refused := 0, 0
	for _, n := range counts {
		done, refused = done+n.allowed, refused+n.refused
	}
	check(swaps > 0 && done > 0 && refused > 0, "%d swaps; %d calls done, %d refused (both must occur)", swaps, done, refused)
	out := changed(v.out)
	check(len(out) == 0, "writes outside: %d %s", len(out), strings.Join(out, " "))
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, failed)
	return failed, nil
}

// attack makes every attempt in turn until d is over.
func (v *world) attack(ctx context.Context, d time.Duration) ([]count, int, error) {
	all, err := swappers(v.dir)
	if err != nil {
		return nil, 0, err
	}
	counts := make([]count, len(attempts))
	for end := time.Now().Add(d); time.Now().Before(end) && err == nil && ctx.Err() == nil; {
		if err = v.renew(); err != nil {
			break
		}
		for i, a := range attempts {
			if a.before != nil {
				if err = a.before(v); err != nil {
					break
				}
			}
			var r agent.ToolResult
			if r, err = v.call(ctx, a.tool, a.args); err != nil {
				break
			}
			if r.Fatal != nil {
				err = fmt.Errorf("%s: %w", a.name, r.Fatal)
				break
			}
			n := &counts[i]
			n.calls++
			if r.OK {
				n.allowed++
			} else {
				n.refused++
			}
			n.leaks += len(secret) * strings.Count(r.Content, secret)
			if strings.Contains(r.Content, ran) {
				n.leaks += len(ran)
			}
		}
	}
	swaps, serr := stopAll(all)
	return counts, swaps, errors.Join(err, serr, ctx.Err())
}

// careless counts what a check on a path followed by a use of the path lets through.
type careless struct{ tries, reads, writes int }

func control(ctx context.Context, dir string, d time.Duration) (c careless, err error) {
	if err := layout(dir); err != nil {
		return c, err
	}
	all, err := swappers(dir)
	if err != nil {
		return c, err
	}
	root := dir + "/w"
	inside := func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return err == nil && strings.HasPrefix(real, root+"/")
	}
	// It goes on until it has shown both: how soon the moment is hit is chance.
	begun := time.Now()
	over := func() bool {
		past := time.Since(begun)
		return past > d && c.reads > 0 && c.writes > 0 || past > d+time.Minute
	}
	for !over() && ctx.Err() == nil {
		c.tries++
		for _, p := range []string{root + "/d/s", root + "/f"} {
			if inside(p) {
				if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), secret) {
					c.reads++
				}
			}
		}
		if inside(root + "/d") {
			os.WriteFile(root+"/d/planted", []byte("x"), 0o644) // refused or not: what counts is where it went
			if os.Remove(dir+"/out/planted") == nil {
				c.writes++
			}
		}
	}
	_, serr := stopAll(all)
	return c, errors.Join(serr, ctx.Err())
}
