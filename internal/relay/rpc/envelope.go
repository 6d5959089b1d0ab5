package rpc

import (
	"encoding/json"
	"errors"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/strictjson"
)

// message is one decoded frame: a request (method and id), a notification (method) or a response (id and one of result
// and error).
type message struct {
	method string
	id     relay.RequestID
	params json.RawMessage
	result json.RawMessage
	err    json.RawMessage
}

// envelope has the members that count; others, such as jsonrpc and emittedAtMs, are tolerated (R-CON-05).
type envelope struct {
	Method *string         `json:"method"`
	ID     json.RawMessage `json:"id"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

var errGarbage = errors.New("not a message of this protocol")

// parse decodes a frame. An id that is neither an integer nor a string cannot be answered: such a frame is no message.
func parse(frame []byte) (message, error) {
	var e envelope
	if err := strictjson.UnmarshalOpen(frame, codex.MaxMessage, &e); err != nil {
		return message{}, errGarbage
	}
	m := message{params: e.Params, result: e.Result, err: e.Error}
	if e.ID != nil {
		if err := m.id.UnmarshalJSON(e.ID); err != nil {
			return message{}, errGarbage
		}
	}
	if e.Method != nil {
		if *e.Method == "" || e.Result != nil || e.Error != nil {
			return message{}, errGarbage
		}
		m.method = *e.Method
		return m, nil
	}
	// A response with both or neither of result and error still ends the wait of its call.
	if !m.id.Valid() {
		return message{}, errGarbage
	}
	return m, nil
}

// whole reports whether a response has exactly one of result and error.
func (m message) whole() bool {
	isErr := m.err != nil && string(m.err) != "null"
	return (m.result != nil) != isErr
}

type callFrame struct {
	Method string          `json:"method"`
	ID     relay.RequestID `json:"id"`
	Params json.RawMessage `json:"params,omitzero"`
}

type noteFrame struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitzero"`
}

type resultFrame struct {
	ID     relay.RequestID `json:"id"`
	Result json.RawMessage `json:"result"`
}

type errorFrame struct {
	ID    relay.RequestID `json:"id"`
	Error codex.RPCError  `json:"error"`
}

// encodeParams is the wire form of parameters; nil sends none.
func encodeParams(params any) (json.RawMessage, error) {
	if params == nil {
		return nil, nil
	}
	return codex.Encode(params)
}

type askedWire struct {
	Permissions json.RawMessage `json:"permissions"`
	Additional  json.RawMessage `json:"additionalPermissions"`
}

// asked returns the object of permissions in params that were decoded as body.
func asked(body codex.ServerRequest, params []byte) json.RawMessage {
	var w askedWire
	switch body.(type) {
	case *codex.CommandApproval, *codex.PermissionsApproval:
		if strictjson.UnmarshalOpen(params, codex.MaxMessage, &w) != nil {
			return nil
		}
	}
	if w.Permissions != nil {
		return w.Permissions
	}
	return w.Additional
}
