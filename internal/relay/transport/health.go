package transport

import (
	"context"
	"net/http"
	"net/url"
)

// Health is the answer of one probe. It is a diagnostic: healthy does not mean that JSON-RPC works (R-CONN-06).
type Health struct {
	Path   string // /readyz or /healthz
	Status int    // HTTP status, 0 when there was none
	Err    error  // an *Error when there was no answer
}

// Probe asks /readyz and /healthz of the endpoint's host, one after the other, without the token. It decides nothing.
func Probe(ctx context.Context, e Endpoint) []Health {
	results := make([]Health, 0, 2)
	for _, path := range []string{"/readyz", "/healthz"} {
		status, err := probe(ctx, e, path)
		results = append(results, Health{path, status, err})
	}
	return results
}

func probe(ctx context.Context, e Endpoint, path string) (int, error) {
	t, err := e.target()
	if err != nil {
		return 0, err
	}
	client, err := e.client(t, t.dialer())
	if err != nil {
		return 0, err
	}
	u := url.URL{Scheme: "http", Host: t.url.Host, Path: path}
	if t.url.Scheme == "wss" {
		u.Scheme = "https"
	}
	limited, cancel := context.WithTimeout(ctx, e.Timing.withDefaults().Handshake)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, dialError(ctx, limited, t, nil, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, dialError(ctx, limited, t, nil, err)
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}
