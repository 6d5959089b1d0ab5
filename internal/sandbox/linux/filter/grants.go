//go:build linux

package filter

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

const (
	// grantLife is how long a granted fork may take until its child is in the group. After that it failed, or its child
	// came and went between two looks. It is also the longest that one decision waits.
	grantLife  = 20 * time.Millisecond
	grantRetry = time.Millisecond
)

// grants decides forks by what exists and what was granted but is not there yet. Precision is needed only at the
// limit: far below it a decision is one read of the group.
type grants struct {
	procs Counter
	limit int
	// open holds the granted forks without a known outcome by asking thread: a thread that asks again is done with its
	// last one.
	open    map[uint32]time.Time
	known   map[int]bool // processes at the last look
	refused bool
	exists  func(thread uint32) bool
}

// grant reports whether the thread may fork now.
func (g *grants) grant(ctx context.Context, thread uint32) (bool, error) {
	delete(g.open, thread)
	return g.decide(ctx, func(count int) bool { return count+len(g.open) < g.limit })
}

// count reports whether the tree keeps its limit now.
func (g *grants) count(ctx context.Context) (bool, error) {
	return g.decide(ctx, func(count int) bool { return count <= g.limit })
}

// decide looks until the condition holds, at most for grantLife: by then every open grant has an outcome, and a process
// that was just ending is gone. Once it has refused, it refuses at once: the tree is being ended.
func (g *grants) decide(ctx context.Context, holds func(count int) bool) (bool, error) {
	deadline := time.Now().Add(grantLife)
	var tick *time.Ticker
	for {
		count, err := g.look()
		if err != nil {
			return false, err
		}
		if holds(count) {
			return true, nil
		}
		if g.refused || time.Now().After(deadline) {
			g.refused = true
			return false, nil
		}
		if tick == nil {
			tick = time.NewTicker(grantRetry)
			defer tick.Stop()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// look counts the processes and closes the grants that have an outcome: a new process is one, and so are a dead asker
// and too long a wait.
func (g *grants) look() (int, error) {
	pids, err := g.procs()
	if err != nil {
		return 0, fmt.Errorf("counting the processes of the tree: %w", err)
	}
	now := make(map[int]bool, len(pids))
	born := 0
	for _, p := range pids {
		now[p] = true
		if !g.known[p] {
			born++
		}
	}
	g.known = now
	for ; born > 0 && len(g.open) > 0; born-- {
		delete(g.open, g.oldest())
	}
	for thread, at := range g.open {
		if time.Since(at) > grantLife || !g.exists(thread) {
			delete(g.open, thread)
		}
	}
	return len(pids), nil
}

func (g *grants) oldest() (thread uint32) {
	var first time.Time
	for t, at := range g.open {
		if first.IsZero() || at.Before(first) {
			thread, first = t, at
		}
	}
	return thread
}

func threadExists(thread uint32) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(int(thread)))
	return err == nil
}
