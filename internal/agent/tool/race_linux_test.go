package tool

import (
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"sekisho/internal/agent"
)

// Attack case 5, the file tools' part: while another process keeps exchanging a directory with a link to the secret's
// directory, no call shows a byte of the secret or writes beside it.
//
// proves A-POL-02
func TestExchangedDirectoryLeaksNothing(t *testing.T) {
	w := newWorld(t)
	w.write("app/d/s", "harmless")
	w.write("app/own", "mine")
	w.link(w.out, "app/e")
	w.open()
	stop, swaps := make(chan struct{}), 0
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, w.ws+"/d", unix.AT_FDCWD, w.ws+"/e", unix.RENAME_EXCHANGE); err != nil {
					t.Errorf("exchanging: %v", err)
					return
				}
				swaps++
			}
		}
	})
	seen := map[bool]int{}
	path := w.ws + "/d/s"
	for range 150 {
		for _, r := range []agent.ToolResult{
			w.call("file_read", arg{"path": path, "mode": "whole"}),
			w.call("file_search", arg{"root": w.ws + "/d", "mode": "text", "query": "s"}),
			w.call("file_search", arg{"root": w.ws, "mode": "regex", "query": "."}),
			w.call("dir", arg{"path": w.ws + "/d/sub", "operation": "mkdir"}),
			w.call("file_edit", arg{"path": w.ws + "/d/new", "operation": "overwrite", "content": "x"}),
			w.call("process_run", arg{"executable": "./s", "args": []string{}, "cwd": w.ws + "/d"}),
		} {
			seen[r.OK]++
			if strings.Contains(r.Content, secret) {
				t.Errorf("leaked: %s", r.Content)
			}
		}
	}
	close(stop)
	swapper.Wait()
	for path := range w.tree() {
		if strings.HasPrefix(path, w.out+"/") && path != w.out+"/s" && path != w.out+"/prog" {
			t.Errorf("written outside: %s", path)
		}
	}
	if w.read("out/s") != secret {
		t.Error("the secret was changed")
	}
	if swaps == 0 || seen[true] == 0 || seen[false] == 0 {
		t.Errorf("no race took place: %d swaps, %v", swaps, seen)
	}
}
