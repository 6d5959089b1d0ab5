//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// output is what a run of a program said and how it ended.
type output struct {
	OK            bool
	Errno, Detail string
	Text          string // everything that was printed
	Code          string // of a run that the product ended or refused
	told          bool   // whether the payload said what came of its attempt
}

// made tells whether the attempt was made: the payload said what came of it, or the kernel ended it at that very system call. What
// never ran shows nothing.
func (o output) made() bool {
	return o.told || strings.Contains(o.Text, "signal SIGSYS") || strings.Contains(o.Text, "SIGSEGV")
}

func (o output) String() string {
	switch {
	case o.Code != "" && o.Code != "tool.failed":
		return o.Code
	case o.Errno != "":
		return o.Errno
	case o.OK:
		return "done " + oneLine(o.Detail, 120)
	}
	return oneLine(o.Text, 160)
}

// decode reads the payload's own line, if there is one.
func (o *output) decode() {
	for line := range strings.Lines(o.Text) {
		if strings.HasPrefix(line, `{"ok":`) {
			o.told = json.Unmarshal([]byte(line), o) == nil
		}
	}
}

// run starts a program inside, through process_run.
func (w *world) run(executable string, args ...string) output {
	return w.runIn(w.real.W, executable, args...)
}

func (w *world) runIn(cwd, executable string, args ...string) output {
	r, err := w.v.call(w.ctx, "process_run", map[string]any{"executable": executable, "args": append([]string{}, args...), "cwd": cwd, "stdin": nil, "timeout_seconds": 60})
	if err != nil {
		w.row(failed, executable+" "+strings.Join(args, " "), fmt.Sprintf("the product: %v: %s", err, tail(w.v.stderr.String())))
		return output{Code: "no answer"}
	}
	o := output{Text: r.Text, Code: r.Code}
	o.decode()
	return o
}

// inside runs the payload inside. It ends with 0 in any case: too many failed calls would end the agent task.
func (w *world) inside(args ...string) output {
	return w.run("payload", append([]string{"-told"}, w.real.words(args)...)...)
}

func (w *world) sh(script string) output { return w.run("sh", "-c", script) }

// outside runs the payload unconfined, as the same user, in the twin's workspace.
func (w *world) outside(args ...string) (o output) {
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.twin.Payload, w.twin.words(args)...)
	cmd.Dir = w.twin.W
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	if o.Text = string(text); err != nil && len(text) == 0 {
		o.Text = err.Error()
	}
	o.decode()
	return o
}
