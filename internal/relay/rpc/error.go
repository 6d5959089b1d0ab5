package rpc

import (
	"context"
	"errors"

	"sekisho/internal/fault"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/visible"
)

// Error is why a call or reply has no result. Its text names codes, the method and the transport's reason; words of the
// server are only in Server, and escaped in the argument detail of Fault.
type Error struct {
	Outcome Outcome
	// Server is the error object that the server answered with, nil when there is none. Its message is untrusted.
	Server *codex.RPCError
	// Kind is what Server means on the connected version; KindUnknown is neither supported nor unsupported (R-PRI-03).
	Kind  codex.ErrorKind
	Fault *fault.Error
}

// Error is the form for logs.
func (e *Error) Error() string { return e.Fault.Error() }

// Unwrap returns the coded failure.
func (e *Error) Unwrap() error { return e.Fault }

// maxServerText bounds what is kept of a server's message; the list of methods in "unknown variant" is 5 kB.
const maxServerText = 16 << 10

func rejected(version, method string, server *codex.RPCError) *Error {
	kind := codex.Classify(version, method, server.Code, server.Message)
	server.Message, _ = codex.Bound(server.Message, maxServerText)
	if len(server.Data) > maxServerText {
		server.Data = nil
	}
	variant := map[codex.ErrorKind]string{
		codex.KindOverloaded: "overloaded", codex.KindWriterConflict: "writer_conflict", codex.KindTurnMismatch: "turn_over",
		codex.KindThreadNotFound: "thread_not_found", codex.KindAuthRequired: "auth_required",
	}[kind]
	return &Error{Outcome: ledger.Confirmed, Server: server, Kind: kind, Fault: fault.New(fault.CallRejected, fault.Variant(variant),
		fault.Target(method), fault.Arg("code", server.Code), fault.Arg("detail", visible.Line(server.Message, 300)))}
}

func notSent(variant string, cause error) *Error {
	return &Error{Outcome: ledger.NotSent, Fault: fault.New(fault.CallNotSent, fault.Variant(variant), fault.Cause(cause))}
}

func gone(variant string) *Error {
	return &Error{Outcome: ledger.NotSent, Fault: fault.New(fault.RequestGone, fault.Variant(variant))}
}

// why names the end of waiting as a variant: the generation's end is stronger than the caller's.
func (c *Client) why(ctx context.Context) string {
	select {
	case <-c.over:
		return "cut"
	default:
	}
	if errors.Is(context.Cause(ctx), errLimit) {
		return "timeout"
	}
	return "cancelled"
}

func (c *Client) reason(ctx context.Context) error {
	select {
	case <-c.over:
		return c.Err()
	default:
	}
	return context.Cause(ctx)
}

// unsent is the error of a call that never reached the writer.
func (c *Client) unsent(ctx context.Context, method string) error {
	why := c.why(ctx)
	if why == "cut" {
		why = "closed"
	}
	return c.unsentBy(method, why, c.reason(ctx))
}

func (c *Client) unsentBy(method, variant string, cause error) error {
	e := notSent(variant, cause)
	e.Fault = e.Fault.With(fault.Target(method))
	return e
}

// unwritten is the error of a call that the transport proved not to have sent. A refusal of the frame itself (too large)
// keeps its own code.
func (c *Client) unwritten(ctx context.Context, method string, cause error) error {
	if f := fault.As(cause); f != nil && f.Code == fault.ConnectionOutboundTooLarge {
		return &Error{Outcome: ledger.NotSent, Fault: f}
	}
	variant := "closed"
	if ctx.Err() != nil {
		variant = c.why(ctx)
	}
	if variant == "cut" {
		variant = "closed"
	}
	return c.unsentBy(method, variant, cause)
}
