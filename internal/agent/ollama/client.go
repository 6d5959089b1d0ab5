package ollama

import (
	"context"
	"errors"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

// Client asks one model at one endpoint. It is safe for concurrent use.
type Client struct{ cfg Config }

// New checks cfg and returns a client; it does not connect.
func New(cfg Config) (*Client, error) { return &Client{cfg: cfg}, nil }

// Chat performs one logical call.
func (c *Client) Chat(ctx context.Context, r Request) (Response, error) {
	return Response{}, errors.New("not there yet")
}

// Capabilities asks the server what the model can do.
func (c *Client) Capabilities(ctx context.Context) (Capabilities, error) {
	return Capabilities{}, errors.New("not there yet")
}

// Fault returns an error of this client's endpoint and model, for callers that judge a Response.
func (c *Client) Fault(code fault.Code, opts ...fault.Option) *fault.Error {
	return fault.New(code, opts...)
}

// ValidateConversation reports the first place where messages break the echo rules of A-OLL-08.
func ValidateConversation(messages []agent.Message) error { return nil }
