//go:build linux

package main

import (
	"fmt"
	"time"
)

// ownAttacks were found by attacking this product.
var ownAttacks = []attack{
	{id: "99", play: func(w *world) {
		o := w.sh("cd " + w.real.W + "; truncate -s 1T big; truncate -s 20G mid; head -c 100M /dev/zero > zeros; mkdir many; cd many; i=0; while [ $i -lt 30000 ]; do : > f$i; i=$((i+1)); done; cd ..; cp /bin/true bigprog; truncate -s 3G bigprog; head -c 2000000 /dev/urandom | tr -d '\\n' > oneline; ln -s big l; printf 'a\\nb' > small; mkfifo ff")
		fmt.Println(o)
		for _, c := range []struct {
			tool string
			args map[string]any
		}{
			{"file_read", whole("W/big")}, {"file_read", map[string]any{"path": "W/big", "mode": "range", "start": int64(1) << 39, "length": 1 << 40}},
			{"file_read", map[string]any{"path": "W/big", "mode": "metadata"}},
			{"file_search", map[string]any{"root": "W/big", "mode": "text", "query": "x"}}, {"file_search", map[string]any{"root": "W/big", "mode": "tail", "query": "", "tail_lines": 5}},
			{"file_search", map[string]any{"root": "W", "mode": "text", "query": "x"}}, {"file_search", map[string]any{"root": "W", "mode": "regex", "query": "(a*)*b"}},
			{"file_search", map[string]any{"root": "W", "mode": "regex", "query": "((a{0,100}){0,100}){0,10}x"}},
			{"file_search", map[string]any{"root": "W", "mode": "glob", "query": "**/**/**/**/*x*"}}, {"dir", map[string]any{"path": "W/many", "operation": "list"}},
			{"file_edit", map[string]any{"path": "W/mid", "operation": "patch", "content": nil, "patch": `{"old_text":"x","new_text":"y"}`, "expected_sha256": nil, "new_path": nil}},
			{"file_edit", overwrite("W/mid")},
			{"file_edit", map[string]any{"path": "W/big", "operation": "rename", "content": nil, "patch": nil, "expected_sha256": nil, "new_path": "W/big2"}},
			{"file_edit", map[string]any{"path": "W/big", "operation": "delete", "content": nil, "patch": nil, "expected_sha256": nil, "new_path": nil}},
			{"process_run", map[string]any{"executable": "W/bigprog", "args": []string{}, "cwd": "W", "stdin": nil, "timeout_seconds": 3}},
			{"process_run", map[string]any{"executable": "sh", "args": []string{"-c", "yes | head -c 3000000000"}, "cwd": "W", "stdin": nil, "timeout_seconds": 20}},
		} {
			args := map[string]any{}
			for k, v := range c.args {
				if s, ok := v.(string); ok {
					v = w.real.path(s)
				}
				args[k] = v
			}
			begun := time.Now()
			r, err := w.v.call(w.ctx, c.tool, args)
			fmt.Println(c.tool, c.args, "→", r.OK, r.Code, err, time.Since(begun).Round(time.Millisecond), oneLine(r.Text, 160))
		}
	}},
}
