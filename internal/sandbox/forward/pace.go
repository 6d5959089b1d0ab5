package forward

import (
	"context"
	"sync"
	"time"
)

// pace spaces events: as many as burst at once, then a fixed number a second.
type pace struct {
	every time.Duration
	ahead time.Duration // how far next may lie before now

	mu   sync.Mutex
	next time.Time // when the next event is due at a steady rate
}

func newPace(perSecond, burst int) *pace {
	every := time.Second / time.Duration(perSecond)
	return &pace{every: every, ahead: every * time.Duration(burst)}
}

// wait returns when one more event may happen, or with ctx's error.
func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	if oldest := now.Add(-p.ahead); p.next.Before(oldest) {
		p.next = oldest
	}
	p.next = p.next.Add(p.every)
	due := p.next.Sub(now)
	p.mu.Unlock()
	if due <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(due)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
