//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// attack is one case of the list.
type attack struct {
	id   string
	play func(w *world)
	set  settings
}

// attacks are the cases in the order in which they are tried.
var attacks = slices.Concat(fileAttacks, processAttacks, networkAttacks, foundAttacks, ownAttacks)

// world is one case at work.
type world struct {
	*runner
	ctx     context.Context
	id      string
	s       *site
	v       *server
	real    *layout
	twin    *layout
	closers []func()
	granted map[string]bool // file tools that were asked for something granted, and whether they did it
}

// caseTime bounds one case.
const caseTime = 2 * time.Minute

func (r *runner) play(ctx context.Context, a attack) {
	ctx, cancel := context.WithTimeout(ctx, caseTime)
	defer cancel()
	w := &world{runner: r, ctx: ctx, id: a.id}
	defer func() {
		if p := recover(); p != nil {
			w.row(failed, "the case itself", fmt.Sprint("panic: ", p))
		}
		w.shut()
		for _, c := range slices.Backward(w.closers) {
			c()
		}
		if w.s != nil {
			if err := w.s.close(); err != nil {
				w.row(failed, "clearing away", err.Error())
			}
		}
	}()
	var err error
	if w.s, err = newSite(ctx, r, a.set); err == nil {
		w.real, w.twin = w.s.real, w.s.twin
		var inherited []*os.File
		if a.set.inherits != "" {
			f, ferr := os.Open(a.set.inherits)
			if ferr != nil {
				w.row(failed, "the fixture", ferr.Error())
				return
			}
			defer f.Close()
			inherited = append(inherited, f)
		}
		w.v, err = w.s.serve(ctx, inherited...)
	}
	if err != nil {
		w.row(failed, "the fixture", err.Error())
		return
	}
	a.play(w)
}

// shut ends the server.
func (w *world) shut() {
	if w.v == nil {
		return
	}
	if err := w.v.close(w.ctx); err != nil {
		w.row(failed, "the end of the server", fmt.Sprintf("%v: %s", err, tail(w.v.stderr.String())))
	}
	w.v = nil
}

type verdict string

const (
	passed  verdict = "passed"
	failed  verdict = "FAILED"
	blocked verdict = "blocked"
)

// row is one line of the report.
func (w *world) row(v verdict, what, happened string) {
	switch v {
	case passed:
		w.passed++
	case failed:
		w.failed++
	default:
		w.blocked++
	}
	fmt.Fprintf(w.out, "%-7s AC-%-3s %-10s %s → %s\n", v, w.id, who(), oneLine(what, 200), oneLine(happened, 900))
}

func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// tail is the end of a log.
func tail(log string) string { return log[max(0, len(log)-600):] }

// check is a row without a control: something that must hold, not something that must be refused.
func (w *world) check(what string, ok bool, happened string, args ...any) {
	v := passed
	if !ok {
		v = failed
	}
	w.row(v, what, fmt.Sprintf(happened, args...))
}

// effect tells whether an attempt did on a layout what it was meant to; the output counts only where the effect is that something became
// known inside.
type effect func(l *layout, o output) bool

// attempt is one thing that the payload tries.
type attempt struct {
	what   string
	args   []string // the payload's, as layout.words reads them
	effect effect
	// cannot says why the control may have no effect either; the row is blocked then.
	cannot string
}

// refused requires that attempts have their effect on the twin, unconfined, and none from inside.
func (w *world) refused(attempts ...attempt) {
	for _, a := range attempts {
		control := w.outside(a.args...)
		works := a.effect(w.twin, control)
		o := w.inside(a.args...)
		switch {
		case a.effect(w.real, o):
			w.row(failed, a.what, "it worked: "+o.String())
		case !o.made():
			w.row(failed, a.what, "the attempt was not made: "+o.String())
		case works:
			w.row(passed, a.what, o.String()+", no effect on the host; the control had it")
		default:
			w.unshown(a.what, a.cannot, o, control)
		}
	}
}

func (w *world) unshown(what, cannot string, o, control output) {
	if cannot == "" || !control.made() {
		w.row(failed, what, fmt.Sprintf("inside %v; but the control had no effect either: %v", o, control))
		return
	}
	w.row(blocked, what, fmt.Sprintf("inside %v; control: %v, %s", o, control, cannot))
}

// succeeds requires the effect from inside: what must go on working.
func (w *world) succeeds(attempts ...attempt) {
	for _, a := range attempts {
		o := w.inside(a.args...)
		w.check(a.what, a.effect(w.real, o), "allowed, as it must be: %v", o)
	}
}

// asked is one call of a file tool that must have no effect; careless is what the same would do without resolving inside the roots.
type asked struct {
	what, tool string
	args       map[string]any // texts as layout.words reads them
	leaks      func(l *layout, r result) bool
	careless   func(l *layout) bool
}

// arguments are those of a tool call whose texts layout.words reads.
func (w *world) arguments(given map[string]any) map[string]any {
	args := map[string]any{}
	for k, v := range given {
		if s, ok := v.(string); ok {
			v = w.real.path(s)
		}
		args[k] = v
	}
	return args
}

func (w *world) toolRefused(all ...asked) {
	for _, a := range all {
		works := a.careless(w.twin)
		r, err := w.v.call(w.ctx, a.tool, w.arguments(a.args))
		switch {
		case err != nil:
			w.row(failed, a.what, "the product: "+err.Error())
		case r.OK || a.leaks(w.real, r):
			w.row(failed, a.what, "it worked: "+oneLine(r.Text, 200))
		case r.Code != "policy.denied":
			w.row(failed, a.what, "not refused by the policy: "+r.Code)
		case works:
			w.row(passed, a.what, r.Code+"; the careless control had the effect")
		default:
			w.row(failed, a.what, r.Code+"; but the careless control had no effect either")
		}
	}
	for _, a := range all {
		if _, asked := w.granted[a.tool]; !asked {
			w.grants(a.tool)
		}
	}
}

// grants requires, once a case, that a file tool does what is granted: one that refuses everything shows nothing.
func (w *world) grants(tool string) {
	if w.granted == nil {
		w.granted = map[string]bool{}
	}
	W := w.real.W
	args := map[string]map[string]any{"file_read": whole(W + "/f"), "file_search": {"root": W, "mode": "text", "query": "old"},
		"file_edit": overwrite(W + "/granted"), "dir": {"path": W, "operation": "list"}}[tool]
	r, err := w.v.call(w.ctx, tool, args)
	effect := reads(W+"/granted") == "planted"
	if tool != "file_edit" {
		effect = strings.Contains(r.Text, "old") || strings.Contains(r.Text, "empty")
	}
	w.granted[tool] = err == nil && r.OK && effect
	w.check(tool+" of what is granted", w.granted[tool], "allowed, as it must be: %v %s %v", r.OK, r.Code, err)
}

// Effects.

func knows(l *layout, o output) bool { return strings.Contains(o.Text, l.Secret) }

func reached(_ *layout, o output) bool { return o.OK }

func is(word, text string) effect {
	return func(l *layout, _ output) bool { return reads(l.path(word)) == text }
}

func exists(word string) effect {
	return func(l *layout, _ output) bool { return there(l.path(word)) }
}

func gone(word string) effect {
	return func(l *layout, _ output) bool { return !there(l.path(word)) }
}

// await polls until done or the time is over.
func (w *world) await(d time.Duration, done func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(d)
	defer end.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-end.C:
			return done()
		case <-w.ctx.Done():
			return done()
		}
	}
	return true
}

// grows tells whether a file gets longer within a moment.
func (w *world) grows(path string) bool {
	before := len(reads(path))
	return w.await(400*time.Millisecond, func() bool { return len(reads(path)) > before })
}

// attempt runs a script inside and prints what came of it.
func (r *runner) attempt(ctx context.Context, script string) error {
	s, err := newSite(ctx, r, settings{})
	if err != nil {
		return err
	}
	v, err := s.serve(ctx)
	if err != nil {
		return errors.Join(err, s.close())
	}
	w := &world{runner: r, ctx: ctx, id: "try", s: s, v: v, real: s.real, twin: s.twin}
	o := w.sh(strings.NewReplacer("PAYLOAD", s.real.Payload, "WORKSPACE", s.real.W).Replace(script))
	fmt.Fprintf(r.out, "%s\n%s\n", o.Code, o.Text)
	return errors.Join(v.close(ctx), s.close())
}
