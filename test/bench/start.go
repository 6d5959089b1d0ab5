//go:build linux

package main

import (
	"os"
	"path/filepath"
	"time"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/host"
)

// start compares the time until initialize is answered. What agent-mcp adds is printed apart: preflight makes and destroys
// a sandbox, and that is the larger part of it.
func (b *bench) start() error {
	dir := filepath.Join(b.dir, "start")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entry, err := b.padded(dir, 15)
	if err != nil {
		return err
	}
	s, err := b.newSite(idle, smallest, entry)
	if err != nil {
		return err
	}
	defer s.close()
	bare, err := b.bin.Build("test/bench/bare")
	if err != nil {
		return err
	}
	program, err := b.bin.Build("cmd/agent-mcp")
	if err != nil {
		return err
	}
	var running *client
	var product, sdk, hashing, preflight []time.Duration
	timed := func(into *[]time.Duration, do act) error {
		begun := time.Now()
		err := do()
		*into = append(*into, time.Since(begun))
		if err == nil && running != nil {
			err = running.stop()
			running = nil
		}
		return err
	}
	pairs := b.pairs(11)
	for range pairs + warmUps {
		for _, step := range []struct {
			into *[]time.Duration
			do   act
		}{
			{&product, func() (err error) { running, err = s.start(); return err }},
			{&sdk, func() (err error) { running, err = b.startClient(nil, bare); return err }},
			{&hashing, func() (err error) {
				running, err = b.startClient(nil, append([]string{bare}, s.entries...)...)
				return err
			}},
			{&preflight, func() error {
				backend, err := host.Open(host.Options{Program: program, Files: fileop.OS()})
				if err != nil {
					return err
				}
				return backend.Preflight(b.ctx)
			}},
		} {
			if err := timed(step.into, step.do); err != nil {
				return err
			}
		}
	}
	product, sdk, hashing, preflight = product[warmUps:], sdk[warmUps:], hashing[warmUps:], preflight[warmUps:]
	sum := make([]time.Duration, pairs)
	for i := range sum {
		sum[i] = hashing[i] + preflight[i]
	}
	b.columns()
	for _, r := range []struct {
		name string
		a, b []time.Duration
	}{
		{"against SDK + hash", product, hashing},
		{"against SDK + hash + preflight", product, sum},
		{"of which preflight (A) : SDK (B)", preflight, sdk},
	} {
		line(r.name, "wall", ratios(r.a, r.b), median(r.a), median(r.b), pairs, goal{})
	}
	return nil
}
