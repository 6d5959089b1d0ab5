package matrix

import (
	"context"
	"time"
)

// probe is one attempt of the payload: its arguments and its effect, both for whichever layout it runs on. An effect looks
// at the host; the output counts only where the effect is that something became known inside.
type probe struct {
	name   string
	args   func(l *layout) []string
	effect func(l *layout, o output) bool
	// optional marks an attempt that an unprivileged user may be refused anyway: without a working control it shows
	// nothing, and the case needs another one.
	optional bool
}

// refused requires that the effect is produced by the control and not from inside.
func (w *world) refused(probes ...probe) {
	controls := 0
	for _, p := range probes {
		control := w.outside(w.twin.Payload, p.args(w.twin)...)
		works := p.effect(w.twin, control)
		o := w.inside(w.real.Payload, p.args(w.real)...)
		switch {
		case p.effect(w.real, o):
			w.Fail(p.name, "it worked: %v", o)
		case works:
			controls++
			w.Pass(p.name)
		case !p.optional:
			w.Block(p.name, "the control had no effect: %v", control)
		}
		w.alive(p.name)
	}
	if controls == 0 {
		w.Block("controls", "none of them had an effect")
	}
}

// succeeds requires the effect from inside.
func (w *world) succeeds(probes ...probe) {
	for _, p := range probes {
		o := w.inside(w.real.Payload, p.args(w.real)...)
		w.Check(p.name, p.effect(w.real, o), "it did not work: %v", o)
	}
}

// alive requires that the sandbox outlived what was tried.
func (w *world) alive(after string) {
	select {
	case <-w.job.Lost():
		w.Fail(after, "the sandbox died")
		w.shut()
		if err := w.open(); err != nil {
			w.Fail("opening the sandbox again", "%v", err)
		}
	default:
	}
}

// await polls until done or the time is over, and returns the last answer: the host's view follows a moment later.
func await(ctx context.Context, d time.Duration, done func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(d)
	defer end.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-end.C:
			return done()
		case <-ctx.Done():
			return done()
		}
	}
	return true
}

// grows tells whether a file gets longer within a moment.
func grows(ctx context.Context, path string) bool {
	before := len(reads(path))
	return await(ctx, 400*time.Millisecond, func() bool { return len(reads(path)) > before })
}

// args with the same words on both layouts.
func words(s ...string) func(*layout) []string { return func(*layout) []string { return s } }

// reached is the effect of an attempt whose success is all there is to see.
func reached(_ *layout, o output) bool { return o.OK }

// knows is the effect that the layout's secret became known.
func knows(l *layout, o output) bool {
	return contains(o.text, l.Secret) || contains(o.Detail, l.Secret)
}

// optionally is the probe as one whose control may fail.
func (p probe) optionally() probe {
	p.optional = true
	return p
}
