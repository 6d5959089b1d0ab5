package rpc

import (
	"context"
	"sync"
)

// places is a semaphore whose waiters are served in the order in which they came.
type places struct {
	mu      sync.Mutex
	free    int
	waiters []chan struct{}
}

func newPlaces(n int) *places { return &places{free: n} }

// take waits for a place, until ctx ends or over is closed.
func (p *places) take(ctx context.Context, over <-chan struct{}) bool {
	p.mu.Lock()
	if p.free > 0 && len(p.waiters) == 0 {
		p.free--
		p.mu.Unlock()
		return true
	}
	mine := make(chan struct{})
	p.waiters = append(p.waiters, mine)
	p.mu.Unlock()
	select {
	case <-mine:
		return true
	case <-ctx.Done():
	case <-over:
	}
	p.mu.Lock()
	for i, w := range p.waiters {
		if w == mine {
			p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
			p.mu.Unlock()
			return false
		}
	}
	p.mu.Unlock()
	p.give() // it was ours at the same moment
	return false
}

// give returns a place, to the first waiter if there is one.
func (p *places) give() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiters) > 0 {
		close(p.waiters[0])
		p.waiters = p.waiters[1:]
		return
	}
	p.free++
}
