package transport

import (
	"context"
	"log/slog"

	"sekisho/internal/fault"
)

// Endpoint is a running app-server (R-CONN-05). It holds no secret and may be printed.
type Endpoint struct {
	URL       string // wss://host[:port][/path], or ws:// to a loopback address or localhost; no user, query or fragment
	TokenFile string // user-only file with the bearer token, read at each Dial; "" sends none
	CAFile    string // PEM certificates trusted beside the system's; "" is none. There is no way to trust without verification
	Limits    Limits
	Timing    Timing
	Log       *slog.Logger // nil logs nothing
}

// Dial connects once. The token is read from its file now and sent in the handshake only.
//
// Errors: connection.endpoint, connection.token_file, connection.ca_file (Config), connection.unauthorized (Auth),
// connection.certificate (TLS), connection.unreachable (Transient), connection.handshake (Config, or Transient for
// a 5xx answer), Cancelled.
func Dial(ctx context.Context, e Endpoint) (Conn, error) {
	return nil, fail(Config, fault.ConnectionUnsupported)
}

// Health is the answer of one probe. It is a diagnostic: healthy does not mean that JSON-RPC works (R-CONN-06).
type Health struct {
	Path   string // /readyz or /healthz
	Status int    // HTTP status, 0 when there was none
	Err    error  // an *Error when there was no answer
}

// Probe asks /readyz and /healthz of the endpoint's host, without the token. It decides nothing.
func Probe(ctx context.Context, e Endpoint) []Health { return nil }
