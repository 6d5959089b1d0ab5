// Package rpc speaks JSON-RPC with one app-server over one connection: a Client is one Connection Generation (R-CONN-02).
//
// Threats: every frame is untrusted. It is decoded strictly and dispatched on the exact method name; what cannot be
// understood is counted and logged without its content, and the connection lives. The server may flood, repeat ids,
// answer twice or never, and stop reading: none of it stops the reader, which waits for nobody (R-CON-05, R-CONN-09).
//
// Nothing is sent twice. A call has one frame, a server request one reply, and the only thing that is ever sent again is
// a read-only call of an explicit list that the server refused as overloaded (R-CONN-07).
//
// Goroutines: reader (decodes, settles calls, queues), writer (the only one that writes), deliverer (calls the Handler).
// Close waits for the first two and the connection, Wait for all. Lock order: Client.mu, then inbox.mu or outbox.mu;
// no lock is held while anything is waited for.
package rpc

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
)

// Outcome is what is known after a call: NotSent (with proof), Confirmed (a result, or an error of the server) or
// OutcomeUnknown. Of a reply: Sent when it was handed over, NotSent, or OutcomeUnknown.
type Outcome = ledger.State

// Limits of one generation.
const (
	MaxInFlight     = 64       // calls (R-CONN-09)
	MaxQueued       = 1024     // notifications that the Handler has not taken yet (R-REC-11)
	MaxQueuedBytes  = 8 << 20  // their frames
	MaxPending      = 1024     // server requests without an answer; more are refused
	MaxPendingBytes = 32 << 20 // their frames
	MaxReplyBytes   = 8 << 20  // error replies that the server does not take; more end the generation
	Retries         = 3        // after the first send of a listed call (R-CONN-07)
)

// Options describes a generation.
type Options struct {
	Generation relay.Generation
	// Version is the server's, if known already; see SetVersion.
	Version string
	Handler Handler
	Log     *slog.Logger // nil logs nothing
	// Jitter is a random number in [0, 1); nil is the usual source.
	Jitter func() float64
	// Drain is how long the reader may still drain frames after a write failed; default 2 s.
	Drain time.Duration
}

// Handler receives what the server says, one call at a time, in the order of arrival. It may take its time: the queue
// behind the reader is bounded, and what does not fit is reported by SyncLost. It must not call Wait.
type Handler interface {
	// Notification is a decoded notification. Consecutive deltas of one part of an item may come as one.
	Notification(relay.Generation, codex.Notification)
	// Request is a handled server request, validated for shape. It is answered by Reply or ReplyError, by anyone, later.
	Request(Request)
	// Retired says that a request needs no answer any more; an answer would not be sent.
	Retired(relay.Key, Retirement)
	// Refused says that a server request was answered by an error at once. The method is server text.
	Refused(gen relay.Generation, method string, code int)
	// SyncLost says that notifications were lost since the last call: state must be read again (R-REC-11).
	SyncLost(relay.Generation, Lost)
	// Ended is the last call, once. err is why.
	Ended(gen relay.Generation, err error)
}

// Request is a server request that waits for an answer.
type Request struct {
	Key  relay.Key
	Body codex.ServerRequest
	// Asked is, for command and permissions approvals, the object of permissions as the server sent it: it may name more
	// than the decoded Body, and what is not understood must not be granted unseen.
	Asked json.RawMessage
}

// Retirement is why a request needs no answer.
type Retirement string

// The reasons.
const (
	Resolved        Retirement = "resolved" // serverRequest/resolved: answered here or elsewhere, or withdrawn
	GenerationEnded Retirement = "generation_ended"
)

// Lost counts what did not reach the Handler.
type Lost struct {
	Dropped   int // notifications that did not fit
	Malformed int // known notifications whose payload had not the known shape
}

// CallOptions change one call.
type CallOptions struct {
	// Limit replaces the time limit of the method's class. It holds for each attempt, from the wait for a place on.
	Limit time.Duration
	// Allow is asked when the call has its place, before its frame is queued: what was allowed when the call began may not
	// be any more. Its error is the call's, which is then NotSent. It must not block.
	Allow func() error
	// Sent is called at most once, before the call returns, when the transport took the frame or cannot tell. It must
	// not block. With retries it is called for the first attempt only.
	Sent func()
}

// Caller is what most users need of a Client.
type Caller interface {
	Call(ctx context.Context, method string, params, result any, opts CallOptions) (Outcome, error)
}

// Stats counts what was odd on a connection.
type Stats struct {
	Garbage    uint64 // frames that are no message
	Unknown    uint64 // notifications of unknown name
	Malformed  uint64 // known notifications of unknown shape
	Refused    uint64 // server requests answered by an error at once
	Duplicates uint64 // server requests whose id was pending; not answered
	Late       uint64 // responses to nothing that waits
	Retries    uint64 // sends after an overload, apart from recovery attempts
	Dropped    uint64 // notifications that did not fit
}
