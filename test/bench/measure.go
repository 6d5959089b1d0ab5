//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// act is one side of a comparison, done once.
type act func() error

// series are the measurements of one comparison, in the order in which they were made.
type series struct {
	wallA, wallB []time.Duration
	cpuA, cpuB   []time.Duration // empty when this machine has no meter
}

// warmUps are made before what counts, so that caches are full on both sides.
const warmUps = 2

// interleave does a, b, a, b ... and measures each.
func (b *bench) interleave(pairs int, first, second act) (*series, error) {
	nothing := func() error { return nil }
	return b.interleaveReady(pairs, nothing, first, nothing, second)
}

// interleaveReady does before and after around each first, unmeasured.
func (b *bench) interleaveReady(pairs int, before, first, after, second act) (*series, error) {
	s := &series{}
	for i := range pairs + warmUps {
		if err := before(); err != nil {
			return nil, err
		}
		wa, ca, err := b.measure(first)
		if err = errors.Join(err, after()); err != nil {
			return nil, err
		}
		wb, cb, err := b.measure(second)
		if err != nil {
			return nil, err
		}
		if err := b.ctx.Err(); err != nil {
			return nil, err
		}
		if i < warmUps {
			continue
		}
		s.wallA, s.wallB = append(s.wallA, wa), append(s.wallB, wb)
		if b.meter.works() {
			s.cpuA, s.cpuB = append(s.cpuA, ca), append(s.cpuB, cb)
		}
	}
	return s, nil
}

// measure does one act. The CPU time is that of this process and of everything below it, whoever reaped it.
func (b *bench) measure(do act) (wall, cpu time.Duration, err error) {
	before, err := b.meter.read()
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	if err := do(); err != nil {
		return 0, 0, err
	}
	wall = time.Since(begun)
	after, err := b.meter.read()
	return wall, after - before, err
}

// middle is the median and the quartiles.
type middle struct{ low, median, high float64 }

func middleOf(values []float64) middle {
	v := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 { return v[min(len(v)-1, int(q*float64(len(v))))] }
	return middle{at(0.25), at(0.5), at(0.75)}
}

// ratios divides pair by pair: what slows the machine down for a while slows both sides of a pair down.
func ratios(a, b []time.Duration) middle {
	var r []float64
	for i := range a {
		r = append(r, float64(a[i])/float64(b[i]))
	}
	return middleOf(r)
}

func median(d []time.Duration) time.Duration {
	var v []float64
	for _, x := range d {
		v = append(v, float64(x))
	}
	return time.Duration(middleOf(v).median)
}

// goal is a bound of a ratio; the zero value is none.
type goal struct {
	bound float64
	least bool // the ratio must reach the bound; otherwise it must not exceed it
}

func (g goal) verdict(value float64) string {
	if g.bound == 0 {
		return ""
	}
	sign, met := "<=", value <= g.bound
	if g.least {
		sign, met = ">=", value >= g.bound
	}
	word := "goal missed"
	if met {
		word = "goal met"
	}
	return fmt.Sprintf("%s (%s %g)", word, sign, g.bound)
}

// row prints one comparison.
func (s *series) row(name string, g goal) {
	line(name, "wall", ratios(s.wallA, s.wallB), median(s.wallA), median(s.wallB), len(s.wallA), g)
	if len(s.cpuA) > 0 {
		line("", "cpu", ratios(s.cpuA, s.cpuB), median(s.cpuA), median(s.cpuB), len(s.cpuA), goal{})
	}
}

func line(name, kind string, r middle, a, b time.Duration, pairs int, g goal) {
	fmt.Printf("  %-34s %-5s %7.2f  %6.2f..%-6.2f %10s %10s %5d  %s\n", name, kind, r.median, r.low, r.high, short(a), short(b), pairs, g.verdict(r.median))
}

func (b *bench) columns() {
	fmt.Printf("  %-34s %-5s %7s  %14s %10s %10s %5s\n", "", "", "A : B", "quartiles", "A", "B", "pairs")
}

func short(d time.Duration) string {
	if d >= 10*time.Millisecond {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// notRun prints a comparison that this machine cannot make.
func notRun(name, reason string) { fmt.Printf("  %-34s not-run: %s\n", name, reason) }

// note prints a figure that is no comparison.
func note(name, format string, args ...any) {
	fmt.Printf("  %-34s %s\n", name, fmt.Sprintf(format, args...))
}
