package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/coder/websocket"

	"sekisho/internal/fault"
)

// dialError classifies a failed attempt. parent is the caller's context, limited the one with the handshake's limit.
func dialError(parent, limited context.Context, t target, resp *http.Response, err error) *Error {
	host := fault.Target(t.url.Host)
	if parent.Err() != nil {
		return cancelled(parent.Err())
	}
	if resp != nil {
		return statusError(resp.StatusCode, host)
	}
	if limited.Err() != nil {
		return fail(Transient, fault.ConnectionUnreachable, fault.Variant("timeout"), host)
	}
	cause := networkCause(err)
	switch {
	case isTLS(err):
		return fail(TLS, fault.ConnectionCertificate, host, fault.Arg("detail", short(cause.Error())), fault.Cause(cause))
	case errors.Is(cause, errForeign):
		return fail(Config, fault.ConnectionHandshake, host, fault.Arg("detail", "no HTTP answer"), fault.Cause(cause))
	}
	return fail(Transient, fault.ConnectionUnreachable, host, fault.Arg("detail", short(cause.Error())), fault.Cause(cause))
}

// statusError judges an answer that was no upgrade, or a wrong one. Its body is the server's and not repeated.
func statusError(status int, host fault.Option) *Error {
	detail := fault.Arg("detail", "HTTP "+http.StatusText(status))
	switch {
	case status == http.StatusUnauthorized:
		return fail(Auth, fault.ConnectionUnauthorized, host)
	case status == http.StatusForbidden:
		return fail(Auth, fault.ConnectionUnauthorized, fault.Variant("forbidden"), host)
	case status == http.StatusSwitchingProtocols:
		return fail(Config, fault.ConnectionHandshake, host, fault.Arg("detail", "wrong upgrade"))
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		return fail(Transient, fault.ConnectionHandshake, host, detail)
	}
	return fail(Config, fault.ConnectionHandshake, host, detail)
}

// readError classifies the end of an established connection.
func (c *wsConn) readError(ctx context.Context, err error) *Error {
	if reason := c.end.reason(); reason != nil {
		return reason
	}
	if ctx.Err() != nil {
		return cancelled(ctx.Err())
	}
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return c.limits.tooLarge()
	}
	var end websocket.CloseError
	if errors.As(err, &end) {
		e := lost("closed_by_server", fault.Arg("status", int(end.Code)))
		e.Class = closeClass(end.Code)
		return e
	}
	cause := networkCause(err)
	if errors.Is(cause, errForeign) {
		return fail(Config, fault.ConnectionProtocol, fault.Arg("detail", "WebSocket framing"), fault.Cause(cause))
	}
	return lost("", fault.Cause(cause))
}

// closeClass maps a WebSocket close code. 3000 and 3003 are registered as Unauthorized and Forbidden.
func closeClass(code websocket.StatusCode) Class {
	switch code {
	case 3000, 3003:
		return Auth
	case websocket.StatusProtocolError, websocket.StatusUnsupportedData, websocket.StatusInvalidFramePayloadData,
		websocket.StatusPolicyViolation, websocket.StatusMandatoryExtension:
		return Config
	}
	return Transient // also 1009: a frame that the server found too big is not sent again by anyone
}

// errForeign stands for an error whose text may quote the server, which might have been told the token.
var errForeign = errors.New("the server broke the protocol")

// networkCause keeps what the operating system, the resolver and the TLS library say, and replaces the rest.
func networkCause(err error) error {
	for _, known := range []error{io.ErrUnexpectedEOF, io.EOF, io.ErrClosedPipe, net.ErrClosed, os.ErrDeadlineExceeded, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, known) {
			return known
		}
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return e
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return e
	}
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return errors.New(e.Msg)
	}
	if e, ok := errors.AsType[tls.AlertError](err); ok {
		return e
	}
	return errForeign
}

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return true
	}
	return strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
