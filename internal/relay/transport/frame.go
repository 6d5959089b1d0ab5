package transport

import (
	"bytes"
	"context"
	"errors"

	"sekisho/internal/fault"
)

// gate refuses a frame that must not be sent (R-CONN-09); nothing was handed over then.
func (l Limits) gate(frame []byte) error {
	if len(frame) > l.Outbound {
		return fail(Config, fault.ConnectionOutboundTooLarge, fault.Arg("size", len(frame)), fault.Arg("limit", l.Outbound))
	}
	// A line feed would end the frame early on a stdio connection: the rest would be read as another message.
	if len(frame) == 0 || bytes.IndexByte(frame, '\n') >= 0 {
		return fail(Config, fault.ConnectionProtocol, fault.Arg("detail", "outgoing frame"), fault.Cause(errors.New("a frame to send is empty or holds a line feed")))
	}
	return nil
}

func (l Limits) tooLarge() *Error {
	return fail(Config, fault.ConnectionInboundTooLarge, fault.Arg("limit", l.Inbound))
}

// turn lets one frame after the other be written; waiting for it can be given up.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context, end *ending) *Error {
	if e := end.reason(); e != nil {
		return e
	}
	if ctx.Err() != nil {
		return cancelled(ctx.Err())
	}
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return cancelled(ctx.Err())
	case <-end.over:
		return end.reason()
	}
	if e := end.reason(); e != nil {
		t.done()
		return e
	}
	return nil
}

func (t turn) done() { <-t }

// busy reports whether a frame is being written now.
func (t turn) busy() bool { return len(t) > 0 }
