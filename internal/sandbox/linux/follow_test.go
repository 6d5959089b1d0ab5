//go:build linux && !cgo

package linux_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// proves A-SBX-02, A-TX-05
//
// A run that PID 1 releases by itself is followed by its start: a cancel at that very moment ends it as one that comes later does,
// unless its program has ended before the cancel is seen.
func TestCancelBetweenAdmissionAndStart(t *testing.T) {
	f := sandboxed(t)
	env, err := filepath.EvalSymlinks("/usr/bin/env")
	must(t, err)
	f.run(f.command(env, "true")).ok(t)
	for _, args := range [][]string{{"sleep", "1000"}, {"true"}} {
		c := f.command(env, args...)
		ctx, cancel := context.WithCancel(context.Background())
		c.Admit = func(sandbox.Proof) error {
			cancel()
			return nil
		}
		var r result
		p, err := f.job.Start(ctx, c)
		if err == nil {
			r.exit, err = p.Wait(within(t))
		}
		if r.fault = err; args[0] == "true" && err == nil {
			r.ok(t)
		} else {
			r.coded(t, fault.AgentCancelled)
		}
		f.sh("true").ok(t)
	}
	notLost(t, f)
}

// proves A-SBX-02
//
// Input and output of every size, of a program that ends at once and of one that goes on: what fits a pipe takes no goroutine.
func TestStreamsOfEverySize(t *testing.T) {
	f := sandboxed(t)
	for _, size := range []int{0, 1, 4096, 65536, 65537, 1 << 20} {
		for _, script := range []string{"cat; cat /dev/null >&2", "cat; sleep 0.05; echo after", "cat >&2", "exec 0<&-; sleep 0.05; echo after"} {
			c := f.command("/bin/sh", "-c", script)
			c.Stdin = bytes.Repeat([]byte("x"), size)
			r := f.run(c)
			r.ok(t)
			want := size
			if strings.Contains(script, "exec") {
				want = 0
			}
			if got := strings.Count(r.out+r.err, "x"); got != want || strings.Contains(script, "after") != strings.HasSuffix(r.out, "after\n") {
				t.Errorf("%s with %d bytes: got %d, and %q at the end", script, size, got, r.out[max(0, len(r.out)-8):])
			}
		}
	}
}
