//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// swapped exchanges a directory of the workspace with a link to the secret's directory, and a file with a link to the secret, while
// every file tool and process start uses those names.
func swapped(w *world) {
	for _, l := range []*layout{w.real, w.twin} {
		if err := errors.Join(os.Mkdir(l.W+"/e", 0o755), write(l.W+"/e/secret", "harmless"), os.Symlink(l.Dir+"/outside", l.W+"/trap"),
			write(l.W+"/h", "harmless"), os.Symlink("../outside/secret", l.W+"/k")); err != nil {
			w.row(failed, "the fixture", err.Error())
			return
		}
	}
	leaks, writes, tries := 0, 0, 0
	stop := w.swapping(w.twin.W+"/e", w.twin.W+"/trap")
	for end := time.Now().Add(w.race / 2); time.Now().Before(end) && (leaks == 0 || writes == 0); tries++ {
		// A careless tool: checks, then uses the path.
		if info, err := os.Lstat(w.twin.W + "/e"); err == nil && info.IsDir() {
			if strings.Contains(reads(w.twin.W+"/e/secret"), w.twin.Secret) {
				leaks++
			}
			write(w.twin.W+"/e/planted", "x")
			if os.Remove(w.twin.Dir+"/outside/planted") == nil {
				writes++
			}
		}
	}
	stop()
	control := fmt.Sprintf("the careless control: %d reads and %d writes outside in %d tries", leaks, writes, tries)
	if leaks == 0 || writes == 0 {
		w.row(failed, "the race", control)
		return
	}
	calls := []struct {
		tool string
		args map[string]any
	}{
		{"file_read", whole("W/e/secret")}, {"file_read", whole("W/h")}, {"file_search", map[string]any{"root": "W/e", "mode": "regex", "query": "."}},
		{"file_search", map[string]any{"root": "W/h", "mode": "tail", "query": "", "tail_lines": 5}},
		{"dir", map[string]any{"path": "W/e", "operation": "list"}}, {"dir", map[string]any{"path": "W/e/sub/sub", "operation": "mkdir"}},
		{"file_edit", overwrite("W/e/planted")}, {"file_edit", map[string]any{"path": "W/h", "operation": "atomic_replace", "content": "harmless", "patch": nil, "expected_sha256": nil, "new_path": nil}},
		{"process_run", map[string]any{"executable": "sh", "args": []string{"-c", "cat secret ../h; echo x >made; echo x >>planted2"}, "cwd": "W/e", "stdin": nil, "timeout_seconds": 30}},
	}
	leak, done, refused := map[string]int{}, map[string]int{}, map[string]int{}
	stop1, stop2 := w.swapping(w.real.W+"/e", w.real.W+"/trap"), w.swapping(w.real.W+"/h", w.real.W+"/k")
	for end := time.Now().Add(w.race); time.Now().Before(end); {
		for _, c := range calls {
			r, err := w.v.call(w.ctx, c.tool, w.arguments(c.args))
			if err != nil {
				// Between two tasks the root may hold nothing that a survey can pin.
				refused[c.tool]++
				continue
			}
			if leaked(w.real, r) {
				leak[c.tool]++
			}
			if r.OK {
				done[c.tool]++
			} else {
				refused[c.tool]++
			}
		}
		os.Symlink("../outside/secret", w.real.W+"/k2") // a replaced file leaves no link to swap with
		if _, err := os.Readlink(w.real.W + "/k"); err != nil {
			os.Rename(w.real.W+"/k2", w.real.W+"/k")
		}
	}
	swaps := stop1() + stop2()
	for _, tool := range []string{"file_read", "file_search", "dir", "file_edit", "process_run"} {
		w.check(fmt.Sprintf("%s on names that change places (%d times)", tool, swaps), leak[tool] == 0 && done[tool]+refused[tool] > 0 && swaps > 1000,
			"%d done, %d refused, the secret %d times; %s", done[tool], refused[tool], leak[tool], control)
	}
	names, err := os.ReadDir(w.real.Dir + "/outside")
	w.check("writes outside", err == nil && len(names) == 1 && reads(w.real.S) == w.real.Secret, "%d files there, as before", len(names))
}
