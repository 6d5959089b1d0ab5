package uicontract

import "encoding/json"

// Paths of the worker's HTTP endpoint.
const (
	PathSession = "/api/session"
	PathCommand = "/api/command"
	PathStream  = "/api/stream"
)

// KeyExchange trades the one-time key of an address for a session key (R-UI-01). Both are 256 bits in unpadded base64url.
// These two messages are the only ones with a secret in them; they are no part of any stream.
type KeyExchange struct {
	Version int    `json:"version"`
	Key     string `json:"key"`
	// Start asks for what the front end shows first in the same answer.
	Start *SnapshotRead `json:"start,omitzero"`
}

// SessionGranted carries the session key, which goes into "Authorization: Relay <key>" of every further request, and the name
// under which the tabs that were admitted find each other in the browser. A page that another program left open in the same
// scheme, host and port cannot know that name, so it hears nothing of what the tabs share.
type SessionGranted struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	Channel string `json:"channel"` // 256 bits in unpadded base64url, one for the life of the endpoint
	// Start is a Start, when it was asked for.
	Start json.RawMessage `json:"start,omitzero"`
}

// Refusal is the body of every answer of the endpoint that is no Result: nothing was executed.
type Refusal struct {
	Version int     `json:"version"`
	Problem Problem `json:"problem"`
}
