// Package ledger records what is known about the delivery of every mutation (R-REC-07, R-PRI-04). It is pure.
//
// An entry is a set of facts that only grows; its State follows from the facts. So the order in which the facts become
// known does not matter, and no state is ever taken back except by knowing more:
//
//	NotSent → Sent → Confirmed | OutcomeUnknown → Delivered
//
// An operation is dispatched at most once, also when it provably did not leave: sending the same content again is another
// operation, started by a person. Nothing here, and nothing that reads from here, resends.
package ledger

import (
	"errors"

	"sekisho/internal/relay"
)

// State is what is known about one mutation, and the outcome of one call.
type State string

// The states.
const (
	// NotSent: nothing was handed over. After a dispatch this needs the transport's proof that sending never began.
	NotSent State = "not_sent"
	// Sent: handed over, at least in part; no answer yet.
	Sent State = "sent"
	// Confirmed: a definite response of the same generation, be it a result or an error of the server.
	Confirmed State = "confirmed"
	// OutcomeUnknown: sent, and there will be no answer. Absence from history, equal text or time never change this.
	OutcomeUnknown State = "outcome_unknown"
	// Delivered: the outcome is unknown, but the server has the message: its clientUserMessageId was found. That proves
	// delivery, and nothing about its effects.
	Delivered State = "delivered"
)

// Settled reports whether nothing but later proof of delivery can change s.
func (s State) Settled() bool { return s == Confirmed || s == OutcomeUnknown || s == Delivered }

// Errors of this package.
var (
	ErrExists     = errors.New("this operation was recorded before")
	ErrUnknown    = errors.New("no such operation")
	ErrDispatched = errors.New("this operation was dispatched before")
	ErrGeneration = errors.New("the operation belongs to another connection")
	ErrConflict   = errors.New("the fact contradicts what is known")
	ErrFull       = errors.New("too many operations are unsettled")
	ErrMessageID  = errors.New("this message id was used before")
)

// Operation is a mutation that somebody asked for.
type Operation struct {
	ID     relay.OperationID `json:"id"`
	Method string            `json:"method"`
	Thread relay.ThreadID    `json:"thread,omitzero"`
	// MessageID is the clientUserMessageId of turn/start and turn/steer: fresh for every operation, "" for the rest.
	MessageID string `json:"messageId,omitzero"`
	// Content is what the person wrote, kept to be copied or edited while the outcome is unknown. It is never logged.
	Content string `json:"content,omitzero"`
}

// Entry is an operation with what is known about it.
type Entry struct {
	Operation
	State      State            `json:"state"`
	Generation relay.Generation `json:"generation,omitzero"` // the connection it was dispatched on; 0 before
	// Rejected: confirmed by an error of the server.
	Rejected bool `json:"rejected,omitzero"`
	// Accepted: an id of the server was correlated with it, which shows acceptance, not that all effects happened.
	Accepted bool         `json:"accepted,omitzero"`
	Turn     relay.TurnID `json:"turn,omitzero"`
	Item     relay.ItemID `json:"item,omitzero"`
	// Dispatched: this operation cannot be sent any more, whatever its state.
	Dispatched bool `json:"dispatched"`
}

// facts are monotone: nothing ever becomes false again.
type facts struct {
	dispatched, started, proof, ended, answered, rejected, accepted, found bool
}

func (f facts) state() State {
	switch {
	case f.answered:
		return Confirmed
	case f.proof:
		return NotSent
	case f.ended && f.found:
		return Delivered
	case f.ended:
		return OutcomeUnknown
	case f.started:
		return Sent
	}
	return NotSent
}
