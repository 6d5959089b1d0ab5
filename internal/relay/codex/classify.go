package codex

import "strings"

// ErrorKind is what an error answer means, as far as the pinned version's exact wording tells (R-PRI-03).
type ErrorKind int

// The kinds. KindUnknown is neither "unsupported" nor "supported": the caller treats the method's support as unknown.
const (
	KindUnknown ErrorKind = iota
	KindUnknownMethod
	KindExperimental   // the method or field needs a capability that was not declared
	KindBadParams      // the server could not read the parameters, or refuses their values
	KindNotInitialized // initialize has not been called
	KindInitialized    // initialize was called twice
	KindThreadNotFound // no such thread, or not loaded, or never persisted
	KindWriterConflict // another process holds the thread's writer lock
	KindTurnMismatch   // turn/steer or turn/interrupt named a turn that is not the running one
	KindAuthRequired   // an account or the gateway sign-in is missing
	KindOverloaded     // nothing was done; a listed read-only call may be sent again (R-CONN-07)
	KindNotSupported   // the method exists and does not work for this thread
	KindCanceled       // a sign-in was cancelled
	KindInternal       // the server failed
)

// String is for logs.
func (k ErrorKind) String() string {
	names := [...]string{"unknown", "unknown method", "experimental", "bad parameters", "not initialized", "already initialized",
		"thread not found", "writer conflict", "turn mismatch", "authentication required", "overloaded", "not supported", "canceled", "internal"}
	if k < 0 || int(k) >= len(names) {
		return names[0]
	}
	return names[k]
}

// Classify tells what an error answer to method means. The wording is pinned per version: for a version without a pinned
// contract only the codes that JSON-RPC or the server's own number fix (-32001) are read, all else is KindUnknown.
func Classify(version, method string, code int, message string) ErrorKind {
	if code == CodeOverloaded {
		return KindOverloaded
	}
	if !Pinned(version) {
		return KindUnknown
	}
	switch code {
	case CodeInvalidRequest:
		return invalidRequest(method, message)
	case CodeMethodNotFound:
		if message == method+" is not supported yet" {
			return KindNotSupported // thread/items/list on an ephemeral thread, and on one that does not exist
		}
	case CodeInvalidParams:
		if strings.HasPrefix(message, "thread not found") {
			return KindThreadNotFound
		}
		return KindBadParams
	case CodeInternal:
		if message == "Gateway sign-in was canceled" {
			return KindCanceled
		}
		return KindInternal
	}
	return KindUnknown
}

// invalidRequest tells apart what the real server all answers with -32600.
func invalidRequest(method, message string) ErrorKind {
	if rest, ok := strings.CutPrefix(message, "Invalid request: "); ok {
		// The same words name an unknown method and an unknown enum value: it is the method only if it is our method.
		if strings.HasPrefix(rest, "unknown variant `"+method+"`, expected one of `initialize`") {
			return KindUnknownMethod
		}
		for _, form := range []string{"missing field `", "invalid type: ", "invalid value: ", "unknown variant `", "data did not match any variant", "invalid length ", "unknown field `", "duplicate field `"} {
			if strings.HasPrefix(rest, form) {
				return KindBadParams
			}
		}
		return KindUnknown
	}
	if subject, ok := strings.CutSuffix(message, " requires experimentalApi capability"); ok {
		if subject == method || strings.HasPrefix(subject, method+".") {
			return KindExperimental
		}
		return KindUnknown
	}
	switch message {
	case "Not initialized":
		return KindNotInitialized
	case "Already initialized":
		return KindInitialized
	}
	switch {
	case strings.HasPrefix(message, "thread ") && strings.HasSuffix(message, " already has an active writer"):
		return KindWriterConflict
	case hasPrefix(message, "thread not loaded", "thread not found", "no rollout found"):
		return KindThreadNotFound
	case hasPrefix(message, "invalid thread id", "invalid cursor: ", "command must not be empty"):
		return KindBadParams
	case hasPrefix(message, "expected active turn id ", "no active turn to "):
		return KindTurnMismatch
	case hasPrefix(message, "codex account authentication required", "Gateway sign-in required"):
		return KindAuthRequired
	}
	return KindUnknown
}

func hasPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
