// Package codex is the app-server protocol as relaycodex uses it: the method table, the Go types of parameters, results,
// notifications and server requests, strict decoding and error classification. It is pure: bytes and values in, values out.
//
// Everything that is decoded here is untrusted. A payload is accepted only if every required member is there and not
// null, every type fits and every closed enumeration has a known value; members that we do not know are tolerated,
// because servers add them (R-CON-05). The rules are read off the Go types (shape.go), so that the type that a reader
// sees is the check that was made:
//
//	X T  `json:"x"`            required, not null
//	X *T `json:"x"`            required, may be null
//	X T  `json:"x,omitzero"`   optional; null means absent
//
// A string type with a method values() is a closed enumeration; a struct with a method variants() is a tagged union.
package codex

import (
	"encoding/json"
	"errors"
	"fmt"

	"sekisho/internal/strictjson"
)

// Raw is JSON that this package carries without looking into it.
type Raw = json.RawMessage

// Error codes of JSON-RPC and of the app-server.
const (
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeOverloaded     = -32001
)

// MaxMessage bounds one decoded payload in bytes. The server sent frames of 42 MB; a transport may gate lower.
const MaxMessage = 64 << 20

// Why a server request is not handled. ReplyError turns each into the answer that goes on the wire.
var (
	// ErrUnknownMethod: no such server request in this client, the legacy ones included (-32601).
	ErrUnknownMethod = errors.New("method not found")
	// ErrBadParams: a known method whose payload does not have the known shape (-32602).
	ErrBadParams = errors.New("invalid params")
	// ErrRefused: a known request that this client refuses on principle, whatever it says (-32601).
	ErrRefused = errors.New("not supported by this client")
)

// RPCError is the error object of JSON-RPC.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    Raw    `json:"data,omitzero"`
}

// Error implements error. The message is server text: escape it before it is shown.
func (e *RPCError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// ReplyError is the wire answer for an error of DecodeServerRequest. It repeats nothing of what the server sent.
func ReplyError(err error) RPCError {
	switch {
	case errors.Is(err, ErrBadParams):
		return RPCError{Code: CodeInvalidParams, Message: ErrBadParams.Error()}
	case errors.Is(err, ErrRefused):
		return RPCError{Code: CodeMethodNotFound, Message: ErrRefused.Error()}
	}
	return RPCError{Code: CodeMethodNotFound, Message: ErrUnknownMethod.Error()}
}

// Decode checks data against the shape of T and decodes it. Errors wrap ErrBadParams and name members, never values.
func Decode[T any](data []byte) (*T, error) {
	v := new(T)
	if err := decodeInto(data, v); err != nil {
		return nil, err
	}
	return v, nil
}

// DecodeResult is Decode for the result of a call, into a value whose type the caller chose. A nil v only checks that
// data is JSON.
func DecodeResult(data []byte, v any) error {
	if v == nil {
		var any Raw
		return strictjson.UnmarshalOpen(data, MaxMessage, &any)
	}
	return decodeInto(data, v)
}

// Encode is the wire form of parameters, a result or a reply.
func Encode(v any) ([]byte, error) { return strictjson.Marshal(v) }
