// Package uicontract is the worker contract: the one versioned set of messages between the worker and a front end
// (R-UI-04). web/src/contract.ts is generated from it (go generate), and a test fails when the two differ.
//
// Shape: a front end sends a Command by POST and gets exactly one Result for it; it reads a stream of Batches, each with
// the id from which the stream can be resumed. A new stream begins with a Snapshot, which is complete: whoever has it
// needs nothing older. Whatever a front end holds is display state; every command is judged again by the worker (R-UI-03).
//
// Text. Members named Shown… have passed visible.Escape and can be put on the page as they are. All other text of the
// server or the model is raw, bounded UTF-8: a front end shows it as text, never as markup that it trusts. No type of this
// package can hold a bearer token, a key or the content of a secret question; a test walks them all.
package uicontract

//go:generate go run sekisho/test/contract-ts ../../../web/src/contract.ts ../../../web/src/text/problems.ts

import (
	"encoding/json"
	"errors"
	"fmt"

	"sekisho/internal/relay"
	"sekisho/internal/strictjson"
)

// Version of the contract. Both ends refuse another one (R-UI-04).
const Version = 1

// Limits, in bytes, of what a front end sends.
const (
	MaxCommand   = 20 << 20 // above the outbound gate (R-CONN-09), so that its reason can be told
	MaxOperation = 64
)

// Header carries the version on every request; a browser cannot add it across origins without being asked.
const Header = "Relay-Contract"

// Command is one wish of a front end. Operation is chosen by it, unique within the worker's life: the same one sent twice
// is executed once and answered twice with the same Result, until the owner changes.
//
// Owner is the epoch of the owner whose state the front end shows. What sends or keeps something for an owner needs it:
// thread.start, thread.join, turn.send, turn.interrupt, card.answer, draft.set. With another than the present one nothing is
// done (relay.command/owner), so that what was under way for one owner never becomes another's (R-PRI-05).
type Command struct {
	Version   int               `json:"version"`
	Owner     uint64            `json:"owner,omitzero"`
	Operation relay.OperationID `json:"operation"`
	Kind      CommandKind       `json:"kind"`
	Params    json.RawMessage   `json:"params"`
}

// Result is the definite answer to a Command.
type Result struct {
	Version   int               `json:"version"`
	Operation relay.OperationID `json:"operation"`
	Status    Status            `json:"status"`
	Value     json.RawMessage   `json:"value,omitzero"`
	Problem   *Problem          `json:"problem,omitzero"`
}

// Status says what is known about the effect.
type Status string

// The statuses. Unknown is never resent by anyone; sending again is a new operation of a person (R-PRI-04).
const (
	Done    Status = "done"    // it happened
	Refused Status = "refused" // nothing was sent to the server
	Failed  Status = "failed"  // the server answered with an error
	Unknown Status = "unknown" // it was sent, and nobody can tell what became of it
)

// Values implements Enum.
func (Status) Values() []string { return []string{"done", "refused", "failed", "unknown"} }

// Problem explains a failure to a person. Code and Variant are stable and select the page's own text; Text and Remedy are
// that text in the worker's language, with everything from outside escaped.
type Problem struct {
	Code    string            `json:"code"`
	Variant string            `json:"variant,omitzero"`
	Args    map[string]string `json:"args,omitzero"`
	Text    string            `json:"text"`
	Remedy  string            `json:"remedy,omitzero"`
}

// Enum is a string type with a closed set of values.
type Enum interface{ Values() []string }

// Errors of Decode and of Batch.
var (
	ErrVersion = errors.New("the other end speaks another version of the worker contract")
	ErrCommand = errors.New("not a command of the worker contract")
)

// DecodeCommand reads a command and its parameters, strictly: an unknown member or kind is an error. The version is looked
// at before anything else. Params is a pointer to the type that Commands lists.
func DecodeCommand(data []byte) (Command, any, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := strictjson.UnmarshalOpen(data, MaxCommand, &head); err != nil {
		return Command{}, nil, fmt.Errorf("%w: %w", ErrCommand, err)
	}
	if head.Version != Version {
		return Command{}, nil, fmt.Errorf("%w: %d here, %d there", ErrVersion, Version, head.Version)
	}
	var c Command
	if err := strictjson.Unmarshal(data, MaxCommand, &c); err != nil {
		return Command{}, nil, fmt.Errorf("%w: %w", ErrCommand, err)
	}
	shape, ok := commands[c.Kind]
	switch {
	case !ok:
		return Command{}, nil, fmt.Errorf("%w: unknown kind", ErrCommand)
	case c.Operation == "" || len(c.Operation) > MaxOperation:
		return Command{}, nil, fmt.Errorf("%w: an operation has 1 to %d bytes", ErrCommand, MaxOperation)
	}
	params := shape.newParams()
	if len(c.Params) == 0 {
		c.Params = json.RawMessage("{}")
	}
	if err := strictjson.Unmarshal(c.Params, MaxCommand, params); err != nil {
		return Command{}, nil, fmt.Errorf("%w: %s: %w", ErrCommand, c.Kind, err)
	}
	return c, params, nil
}

// Encode is the wire form of any message of the contract.
func Encode(v any) ([]byte, error) { return strictjson.Marshal(v) }

// Decode is for the other end: messages of a worker of the same version.
func Decode(data []byte, v any) error { return strictjson.Unmarshal(data, MaxStream, v) }

// MaxStream bounds one message of the stream for its reader, in bytes.
const MaxStream = 64 << 20
