package ollama

import (
	"context"
	"net/http"
	"time"

	"sekisho/internal/fault"
)

// Client asks one model at one endpoint. It is safe for concurrent use.
type Client struct {
	cfg  Config
	set  settings
	http *http.Client
	wait func(context.Context, time.Duration) error
	// limit is MaxReplyBytes; tests lower it.
	limit int64
}

// New checks cfg and returns a client; it does not connect. An error is configuration.invalid with the key as target.
func New(cfg Config) (*Client, error) {
	set, err := check(cfg)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, set: set, http: newHTTP(set.loopback), wait: cfg.Wait, limit: MaxReplyBytes}
	if c.wait == nil {
		c.wait = sleep
	}
	return c, nil
}

// Close drops idle connections. Calls in flight go on.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Fault returns an error about this client's endpoint and model, for callers that judge a Response.
func (c *Client) Fault(code fault.Code, opts ...fault.Option) *fault.Error {
	base := []fault.Option{fault.Arg("endpoint", c.set.base), fault.Arg("model", c.cfg.Model), fault.Arg("detail", "")}
	return fault.New(code, append(base, opts...)...)
}
