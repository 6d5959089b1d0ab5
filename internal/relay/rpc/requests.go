package rpc

import (
	"context"
	"maps"
	"slices"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/visible"
)

// requests are the server's requests of this generation that are not settled: waiting for an answer, or answered and not
// yet reported as resolved.
type requests struct {
	byID  map[relay.RequestID]*pending
	bytes int
}

// pending is one of them. Whoever sets claimed has the only right to put a reply on the wire.
type pending struct {
	size     int
	claimed  bool
	answered bool
	reply    *item
}

func (r *requests) all() []relay.RequestID { return slices.Collect(maps.Keys(r.byID)) }

func (r *requests) remove(id relay.RequestID) {
	if p, ok := r.byID[id]; ok {
		r.bytes -= p.size
		delete(r.byID, id)
	}
}

// room makes room for one more by forgetting answered ones whose resolution never came.
func (r *requests) room(size int) bool {
	if len(r.byID) >= MaxPending || r.bytes+size > MaxPendingBytes {
		for id, p := range r.byID {
			if p.answered {
				r.remove(id)
			}
		}
	}
	return len(r.byID) < MaxPending && r.bytes+size <= MaxPendingBytes
}

// serverRequest answers what cannot be handled and hands on the rest.
func (c *Client) serverRequest(m message, size int) {
	c.mu.Lock()
	if c.closing || c.ended {
		c.mu.Unlock()
		return
	}
	if _, ok := c.requests.byID[m.id]; ok {
		c.mu.Unlock()
		// A second answer to the id would be an answer to the first request, so there is none (R-INT-01). The server
		// itself repeats a pending request when its thread is joined again.
		if c.stats.duplicates.Add(1) <= maxOddities {
			c.log.Info("a pending request was repeated", "method", visible.Line(m.method, 100), "id", visible.Line(m.id.String(), 100))
		}
		return
	}
	c.mu.Unlock()

	body, err := codex.DecodeServerRequest(m.method, m.params)
	if err != nil {
		c.refuse(m, codex.ReplyError(err))
		return
	}
	request := Request{Key: relay.Key{Generation: c.gen, Request: m.id}, Body: body, Asked: asked(body, m.params)}
	c.mu.Lock()
	room := c.requests.room(size)
	if room {
		c.requests.byID[m.id] = &pending{size: size}
		c.requests.bytes += size
		c.in.add(event{request: &request})
	}
	c.mu.Unlock()
	if !room {
		c.refuse(m, codex.RPCError{Code: codex.CodeInternal, Message: "too many requests are pending"})
	}
}

// refuse answers by an error at once. It does not wait for the writer.
func (c *Client) refuse(m message, e codex.RPCError) {
	if c.stats.refused.Add(1) <= maxOddities {
		c.log.Warn("a request of the server was refused", "method", visible.Line(m.method, 100), "code", e.Code)
	}
	frame, err := codex.Encode(errorFrame{m.id, e})
	if err != nil {
		c.breach("a request id cannot be repeated")
		return
	}
	if _, full := c.out.push(context.Background(), frame, true); full {
		c.breach("error replies are not taken")
		return
	}
	c.in.add(event{refused: &refused{m.method, e.Code}})
}

// resolved settles a request that needs no answer any more. A reply that is still queued is taken back.
func (c *Client) resolved(id relay.RequestID) {
	c.mu.Lock()
	p, ok := c.requests.byID[id]
	c.requests.remove(id)
	var reply *item
	if ok {
		reply = p.reply
	}
	c.mu.Unlock()
	if !ok {
		return // another client's, or long settled
	}
	if reply != nil {
		c.out.withdraw(reply, gone("resolved"))
	}
	c.in.retire(relay.Key{Generation: c.gen, Request: id}, Resolved)
}

// Reply answers a request with a result: at most one reply per request leaves, whoever asks and however often. The
// outcome is Sent when the reply was handed over, OutcomeUnknown when it may have been, and NotSent with an error in all
// other cases. After NotSent the request can be answered again if it is still pending.
//
// Errors: request.gone (variants answered, resolved, ended), those of the transport.
func (c *Client) Reply(ctx context.Context, key relay.Key, result any) (Outcome, error) {
	body, err := codex.Encode(result)
	if err != nil {
		return ledger.NotSent, err
	}
	frame, err := codex.Encode(resultFrame{key.Request, body})
	if err != nil {
		return ledger.NotSent, err
	}
	return c.answer(ctx, key, frame)
}

// ReplyError is Reply with an error.
func (c *Client) ReplyError(ctx context.Context, key relay.Key, e codex.RPCError) (Outcome, error) {
	frame, err := codex.Encode(errorFrame{key.Request, e})
	if err != nil {
		return ledger.NotSent, err
	}
	return c.answer(ctx, key, frame)
}

func (c *Client) answer(ctx context.Context, key relay.Key, frame []byte) (Outcome, error) {
	c.mu.Lock()
	if key.Generation != c.gen || c.ended || c.closing {
		c.mu.Unlock()
		return ledger.NotSent, gone("ended")
	}
	p, ok := c.requests.byID[key.Request]
	if !ok || p.claimed {
		c.mu.Unlock()
		if ok {
			return ledger.NotSent, gone("answered")
		}
		return ledger.NotSent, gone("resolved")
	}
	p.claimed = true
	it, _ := c.out.push(ctx, frame, false)
	p.reply = it
	c.mu.Unlock()

	select {
	case <-it.done:
	case <-ctx.Done():
		c.out.withdraw(it, notSent("cancelled", ctx.Err()))
		<-it.done // the writer has it, for at most the transport's limit of one frame
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !it.started:
		p.claimed, p.reply = false, nil
		if c.ended {
			return ledger.NotSent, gone("ended")
		}
		return ledger.NotSent, it.err
	case it.err != nil:
		p.answered = true
		return ledger.OutcomeUnknown, &Error{Outcome: ledger.OutcomeUnknown, Fault: fault.New(fault.CallOutcomeUnknown, fault.Variant("cut"), fault.Target("reply"), fault.Cause(it.err))}
	}
	p.answered = true
	return ledger.Sent, nil
}
