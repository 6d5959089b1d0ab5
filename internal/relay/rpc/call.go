package rpc

import (
	"context"
	"errors"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
)

// call is a call that waits for its response.
type call struct{ ch chan message } // buffered 1

var errLimit = errors.New("the call's time limit ended")

// Call sends one request and waits for its response, decoded into result (nil: only checked to be JSON).
//
//	Confirmed, nil        the result
//	Confirmed, *Error     the server answered with an error; Error.Server holds it, Error.Kind what it means
//	NotSent, *Error       proof that not one byte left: no place or turn in time, too large, generation over
//	NotSent, other        what CallOptions.Allow said
//	OutcomeUnknown, *Error  sent, and no usable answer: time limit, ctx, end of the generation, malformed result
//
// Calls beyond MaxInFlight wait in order. Every attempt is limited by the class of its method.
func (c *Client) Call(ctx context.Context, method string, params, result any, opts CallOptions) (Outcome, error) {
	m, ok := codex.Lookup(method)
	if !ok || m.Support(c.Version()) == codex.Unsupported {
		return ledger.NotSent, &Error{Outcome: ledger.NotSent, Fault: fault.New(fault.CallNotSent, fault.Variant("unsupported"), fault.Target(method))}
	}
	body, err := encodeParams(params)
	if err != nil {
		return ledger.NotSent, notSent("", err)
	}
	if opts.Limit <= 0 {
		opts.Limit = m.Limit.Duration()
	}
	for attempt := 0; ; attempt++ {
		outcome, err := c.once(ctx, method, body, result, opts)
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != codex.KindOverloaded || !m.Retry || attempt == Retries || !c.pause(ctx, attempt) {
			return outcome, err
		}
		opts.Sent = nil
		c.stats.retries.Add(1)
	}
}

// pause waits before the next attempt: 250 ms, 500 ms, 1 s, each ±50 %. It reports whether there may be one.
func (c *Client) pause(ctx context.Context, attempt int) bool {
	base := 250 * time.Millisecond << attempt
	t := time.NewTimer(base/2 + time.Duration(c.opts.Jitter()*float64(base)))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-c.over:
	}
	return false
}

func (c *Client) once(parent context.Context, method string, params []byte, result any, opts CallOptions) (Outcome, error) {
	ctx, cancel := context.WithTimeoutCause(parent, opts.Limit, errLimit)
	defer cancel()
	if !c.slots.take(ctx, c.over) || ctx.Err() != nil {
		return ledger.NotSent, c.unsent(ctx, method)
	}
	defer c.slots.give()
	if opts.Allow != nil {
		if err := opts.Allow(); err != nil {
			return ledger.NotSent, err
		}
	}
	id, mine, it, err := c.start(ctx, method, params)
	if err != nil {
		return ledger.NotSent, err
	}
	defer c.forget(id)

	sent := func() {
		if opts.Sent != nil {
			opts.Sent()
			opts.Sent = nil
		}
	}
	written := it.done
	for {
		select {
		case <-written:
			if !it.started {
				return ledger.NotSent, c.unwritten(ctx, method, it.err)
			}
			sent()
			written = nil
		case m := <-mine.ch:
			sent() // the server cannot answer what it did not get
			return c.answered(method, m, result)
		case <-ctx.Done():
			return c.giveUp(ctx, method, id, mine, it, result, sent)
		case <-c.over:
			return c.giveUp(ctx, method, id, mine, it, result, sent)
		}
	}
}

// start registers a call and queues its frame.
func (c *Client) start(ctx context.Context, method string, params []byte) (int64, *call, *item, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.closing {
		return 0, nil, nil, c.unsentBy(method, "closed", c.err)
	}
	id := c.nextID + 1
	frame, err := codex.Encode(callFrame{method, relay.IntID(id), params})
	if err != nil {
		return 0, nil, nil, notSent("", err)
	}
	c.nextID = id
	mine := &call{make(chan message, 1)}
	c.calls[id] = mine
	it, _ := c.out.push(ctx, frame, false)
	return id, mine, it, nil
}

func (c *Client) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// response settles a call. Responses to nothing that waits are ignored: answered before, given up, or never sent.
func (c *Client) response(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := m.id.Int()
	mine := c.calls[n]
	if !ok || mine == nil || c.closing {
		c.stats.late.Add(1)
		return
	}
	delete(c.calls, n)
	mine.ch <- m
}

// giveUp settles a call without having seen a response. One that arrived at the same moment counts.
func (c *Client) giveUp(ctx context.Context, method string, id int64, mine *call, it *item, result any, sent func()) (Outcome, error) {
	c.forget(id)
	select {
	case m := <-mine.ch:
		sent()
		return c.answered(method, m, result)
	default:
	}
	if c.out.withdraw(it, errLimit) {
		return ledger.NotSent, c.unsent(ctx, method)
	}
	select {
	case <-c.over:
		<-it.done // the connection is at its end, so the writer knows at once
	default:
	}
	select {
	case <-it.done:
		if !it.started {
			return ledger.NotSent, c.unwritten(ctx, method, it.err)
		}
		sent()
	default: // it is being written: part of it may have left
	}
	return ledger.OutcomeUnknown, &Error{Outcome: ledger.OutcomeUnknown, Fault: fault.New(fault.CallOutcomeUnknown,
		fault.Variant(c.why(ctx)), fault.Target(method), fault.Cause(c.reason(ctx)))}
}

// answered reads a response.
func (c *Client) answered(method string, m message, result any) (Outcome, error) {
	malformed := func(err error) (Outcome, error) {
		return ledger.OutcomeUnknown, &Error{Outcome: ledger.OutcomeUnknown,
			Fault: fault.New(fault.CallOutcomeUnknown, fault.Variant("malformed"), fault.Target(method), fault.Cause(err))}
	}
	if !m.whole() {
		return malformed(errGarbage)
	}
	if m.result != nil {
		if err := codex.DecodeResult(m.result, result); err != nil {
			return malformed(err)
		}
		return ledger.Confirmed, nil
	}
	server, err := codex.Decode[codex.RPCError](m.err)
	if err != nil {
		return malformed(err)
	}
	return ledger.Confirmed, rejected(c.Version(), method, server)
}

// Notify sends a notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	body, err := encodeParams(params)
	if err != nil {
		return err
	}
	frame, err := codex.Encode(noteFrame{method, body})
	if err != nil {
		return err
	}
	it, _ := c.out.push(ctx, frame, false)
	select {
	case <-it.done:
	case <-ctx.Done():
		c.out.withdraw(it, notSent("cancelled", ctx.Err()))
		<-it.done
	}
	return it.err
}
