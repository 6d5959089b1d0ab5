package rpc

import (
	"context"
	"sync"

	"sekisho/internal/relay/transport"
)

// outbox is the queue before the one writer. It is bounded by its users: calls by their places, replies by the pending
// requests, error replies by MaxReplyBytes.
type outbox struct {
	mu     sync.Mutex
	wake   chan struct{} // buffered 1
	items  []*item
	closed error
	auto   int // bytes of error replies in items
}

// item is one frame on its way.
type item struct {
	frame   []byte
	ctx     context.Context
	auto    bool
	done    chan struct{} // closed when started and err are final
	started bool
	err     error
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// push queues a frame. After close the item is done at once, not started.
func (o *outbox) push(ctx context.Context, frame []byte, auto bool) (it *item, full bool) {
	it = &item{frame: frame, ctx: ctx, auto: auto, done: make(chan struct{})}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed != nil {
		it.err = o.closed
		close(it.done)
		return it, false
	}
	if auto {
		o.auto += len(frame)
		full = o.auto > MaxReplyBytes
	}
	o.items = append(o.items, it)
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return it, full
}

// withdraw takes an item back that the writer does not have yet; it is then done with err and not one byte was sent.
func (o *outbox) withdraw(it *item, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, queued := range o.items {
		if queued == it {
			o.items = append(o.items[:i], o.items[i+1:]...)
			o.drop(it, err)
			return true
		}
	}
	return false
}

func (o *outbox) drop(it *item, err error) {
	if it.auto {
		o.auto -= len(it.frame)
	}
	it.err = err
	close(it.done)
}

// take waits for the next item; nil after close.
func (o *outbox) take() *item {
	for {
		o.mu.Lock()
		if o.closed != nil {
			o.mu.Unlock()
			return nil
		}
		if len(o.items) > 0 {
			it := o.items[0]
			o.items = o.items[1:]
			if it.auto {
				o.auto -= len(it.frame)
			}
			o.mu.Unlock()
			return it
		}
		o.mu.Unlock()
		<-o.wake
	}
}

// close ends the queue: what is still in it was not sent.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed != nil {
		return
	}
	o.closed = err
	for _, it := range o.items {
		o.drop(it, err)
	}
	o.items = nil
	close(o.wake)
}

// write is the writer: one frame after the other until the outbox is closed.
func (c *Client) write() {
	defer c.wg.Done()
	for it := c.out.take(); it != nil; it = c.out.take() {
		it.started, it.err = c.conn.Write(it.ctx, it.frame)
		close(it.done)
		if it.err != nil && (it.started || transport.ClassOf(it.err) == transport.Transient) {
			c.broken(it.err)
		}
	}
}
