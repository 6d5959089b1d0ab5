package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"

	"sekisho/internal/fault"
	"sekisho/internal/redact"
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

const (
	maxToken = 8 << 10
	maxCA    = 1 << 20
)

// target is a checked Endpoint.
type target struct {
	url   *url.URL
	local bool // loopback: no proxy, and no other address is ever dialled
}

// Check tells whether the address may be used at all, without touching the network or a file: nil, or
// connection.endpoint (Config).
func (e Endpoint) Check() error {
	_, err := e.target()
	return err
}

func (e Endpoint) target() (target, error) {
	bad := func(variant, detail string) (target, error) {
		// The address itself is quoted only when it cannot hold a credential.
		shown := "…"
		if u, err := url.Parse(e.URL); err == nil && u.User == nil && u.RawQuery == "" && u.Fragment == "" {
			shown = short(e.URL)
		}
		return target{}, fail(Config, fault.ConnectionEndpoint, fault.Variant(variant), fault.Target(shown), fault.Arg("detail", detail))
	}
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "" {
		return bad("", "it is no address of the form wss://host:port")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return bad("credentials", "it has a user, a query or a fragment")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return bad("", "its port is no number from 1 to 65535")
		}
	}
	addr, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && addr.Unmap().IsLoopback()
	switch {
	case u.Scheme == "wss":
	case u.Scheme == "ws" && local:
	case u.Scheme == "ws":
		return bad("plain", "ws is not encrypted and only allowed to this machine")
	default:
		return bad("", "its scheme is neither wss nor ws")
	}
	return target{u, local}, nil
}

// client builds an HTTP client for one attempt. It follows no redirect (the token would go where nobody configured it),
// and asks no proxy for this machine.
func (e Endpoint) client(t target, dial func(context.Context, string, string) (net.Conn, error)) (*http.Client, error) {
	roots, err := e.roots()
	if err != nil {
		return nil, err
	}
	proxy := http.ProxyFromEnvironment
	if t.local {
		proxy = nil
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  proxy,
			DialContext:            dial,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, NextProtos: []string{"http/1.1"}},
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// dialer connects TCP. localhost is a name that a resolver answers: what it answers must be this machine.
func (t target) dialer() func(context.Context, string, string) (net.Conn, error) {
	d := &net.Dialer{}
	if t.local {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil || !to.Addr().Unmap().IsLoopback() {
				return errors.New("the name does not stand for this machine")
			}
			return nil
		}
	}
	return d.DialContext
}

// roots are the system's certificates and those of CAFile; nil is the system's alone.
func (e Endpoint) roots() (*x509.CertPool, error) {
	if e.CAFile == "" {
		return nil, nil
	}
	bad := func(err error) error {
		return fail(Config, fault.ConnectionCAFile, fault.Target(e.CAFile), fault.Arg("detail", short(err.Error())), fault.Cause(err))
	}
	data, err := readGuarded(e.CAFile, 0o022, maxCA)
	if err != nil {
		return nil, bad(err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(data) {
		return nil, bad(errors.New("it holds no PEM certificate"))
	}
	return pool, nil
}

// token reads the bearer token. Errors never quote the file's content.
func (e Endpoint) token() (redact.Secret, error) {
	if e.TokenFile == "" {
		return redact.Secret{}, nil
	}
	bad := func(err error) (redact.Secret, error) {
		return redact.Secret{}, fail(Config, fault.ConnectionTokenFile, fault.Target(e.TokenFile), fault.Arg("detail", short(err.Error())), fault.Cause(err))
	}
	data, err := readGuarded(e.TokenFile, 0o077, maxToken)
	if err != nil {
		return bad(err)
	}
	for len(data) > 0 && (data[len(data)-1] == '\n' || data[len(data)-1] == '\r') {
		data = data[:len(data)-1]
	}
	if len(data) == 0 {
		return bad(errors.New("it is empty"))
	}
	for _, b := range data {
		if b <= ' ' || b >= 0x7f {
			return bad(errors.New("it holds more than one line of printable ASCII without spaces"))
		}
	}
	return redact.New(string(data)), nil
}

// readGuarded reads at most limit bytes of a regular file that is this user's and has none of the permission bits of
// open.
func readGuarded(path string, open uint32, limit int64) ([]byte, error) {
	f, err := openGuarded(path, open)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return data, nil
}
