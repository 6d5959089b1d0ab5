package ollama

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sekisho/internal/fault"
)

const maxErrorBody = 64 << 10

// newHTTP builds the one shared client. There is no way to switch certificate checks off, no redirect is followed (a
// credential or a prompt would go where nobody configured it), and this machine is never asked through a proxy.
func newHTTP(loopback bool) *http.Client {
	proxy := http.ProxyFromEnvironment
	if loopback {
		proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  proxy,
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    10 * time.Second,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    2,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 1 << 20,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// once makes one HTTP exchange. parse judges a 200 body without an error member.
func (c *Client) once(ctx context.Context, path string, body []byte, parse func([]byte) *failure) (int, *failure) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.set.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, &failure{err: c.Fault(fault.AgentInternal, fault.Cause(err))}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "agent-mcp")
	if err := c.credential(req); err != nil {
		return 0, &failure{err: err}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, c.network(ctx, err)
	}
	defer resp.Body.Close()
	limit := int64(maxErrorBody)
	if resp.StatusCode == http.StatusOK {
		limit = c.limit
		if enc := resp.Header.Get("Content-Encoding"); enc != "" && !resp.Uncompressed {
			return resp.StatusCode, c.protocol(fmt.Errorf("the reply has the content encoding %q", short(enc)))
		}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case resp.StatusCode != http.StatusOK: // a cut or endless error body must not hide the status
		return resp.StatusCode, c.classify(resp.StatusCode, resp.Header, data[:min(int64(len(data)), limit)])
	case err != nil:
		return resp.StatusCode, c.network(ctx, fmt.Errorf("reading the reply: %w", err))
	case int64(len(data)) > limit:
		return resp.StatusCode, c.protocol(fmt.Errorf("the reply is larger than %d bytes", limit))
	}
	if text, ok := errorText(data); ok {
		return resp.StatusCode, c.classifyText(http.StatusOK, text)
	}
	return resp.StatusCode, parse(data)
}

// network turns a transport error into a failure. What the context ended stays the context's error.
func (c *Client) network(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		return &failure{err: fmt.Errorf("asking the model: %w", ctx.Err())}
	}
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return &failure{err: c.Fault(fault.OllamaUnavailable, fault.Variant("certificate"), fault.Cause(err))}
	}
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) {
		return c.protocol(err)
	}
	return &failure{err: c.Fault(fault.OllamaUnavailable, fault.Arg("detail", reason(err)), fault.Cause(err)), retry: true}
}

// reason is the innermost network error without the method and URL that url.Error adds.
func reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return short(err.Error())
}

// short bounds text of the other side before it enters a sentence. Escaping is for whoever shows it.
func short(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) <= 300 {
		return s
	}
	return strings.ToValidUTF8(s[:297], "") + "…"
}
