// Package headless is a front end without a page: it drives a worker with nothing but the worker contract, over the same
// HTTP as a browser, and folds the events into what a page would show. Tests assert on that, and a reader can see here
// what a front end has to do.
package headless

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"sekisho/internal/relay"
	"sekisho/internal/relay/uicontract"
)

// Client is an admitted front end. It is safe for concurrent use.
type Client struct {
	origin  string
	session string
	http    *http.Client
	owner   atomic.Uint64 // epoch of the latest owner that was told. A page takes it from what it shows.
}

// learn takes in the epoch of an owner; later owners have higher ones.
func (c *Client) learn(epoch uint64) {
	for old := c.owner.Load(); epoch > old && !c.owner.CompareAndSwap(old, epoch); old = c.owner.Load() {
	}
}

// Connect exchanges the key of a page address for a session key.
func Connect(ctx context.Context, address string) (*Client, error) {
	origin, key, ok := strings.Cut(address, "/#")
	if !ok {
		return nil, fmt.Errorf("not a page address")
	}
	c := &Client{origin: origin, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	var granted uicontract.SessionGranted
	if err := c.post(ctx, uicontract.PathSession, uicontract.KeyExchange{Version: uicontract.Version, Key: key}, &granted); err != nil {
		return nil, err
	}
	c.session = granted.Session
	return c, nil
}

// Close gives the connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// RefusedError is an answer of the endpoint: nothing was executed.
type RefusedError struct {
	Status  int
	Problem uicontract.Problem
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("refused with %d: %s", e.Status, e.Problem.Text)
}

func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.origin+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set(uicontract.Header, strconv.Itoa(uicontract.Version))
	if c.session != "" {
		req.Header.Set("Authorization", "Relay "+c.session)
	}
	return req, nil
}

func (c *Client) post(ctx context.Context, path string, in, out any) error {
	data, err := uicontract.Encode(in)
	if err != nil {
		return err
	}
	req, err := c.request(ctx, http.MethodPost, path, data)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", c.origin)
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp.StatusCode, body)
	}
	return uicontract.Decode(body, out)
}

func refusal(status int, body []byte) error {
	var r uicontract.Refusal
	if err := uicontract.Decode(body, &r); err != nil {
		return fmt.Errorf("HTTP %d: %w", status, err)
	}
	return &RefusedError{status, r.Problem}
}

// Operation makes a fresh operation id.
func Operation() relay.OperationID {
	var b [12]byte
	rand.Read(b[:]) // never fails (crypto/rand documentation)
	return relay.OperationID(hex.EncodeToString(b[:]))
}

// Do sends one command under a fresh operation and decodes its value into value, if that is not nil and it is done.
func (c *Client) Do(ctx context.Context, kind uicontract.CommandKind, params, value any) (uicontract.Result, error) {
	return c.DoAs(ctx, Operation(), kind, params, value)
}

// DoAs is Do under a given operation, for sending the same one again.
func (c *Client) DoAs(ctx context.Context, op relay.OperationID, kind uicontract.CommandKind, params, value any) (uicontract.Result, error) {
	raw := json.RawMessage("{}")
	if params != nil {
		var err error
		if raw, err = uicontract.Encode(params); err != nil {
			return uicontract.Result{}, err
		}
	}
	var r uicontract.Result
	err := c.post(ctx, uicontract.PathCommand, uicontract.Command{Version: uicontract.Version, Owner: c.owner.Load(), Operation: op, Kind: kind, Params: raw}, &r)
	if err != nil {
		return r, err
	}
	if r.Version != uicontract.Version || r.Operation != op {
		return r, fmt.Errorf("the result of %s is version %d of operation %s", op, r.Version, r.Operation)
	}
	if r.Status == uicontract.Done && (kind == uicontract.CmdConnect || kind == uicontract.CmdReconnect) {
		var as uicontract.ConnectedAs
		if err := uicontract.Decode(r.Value, &as); err != nil {
			return r, err
		}
		c.learn(as.Owner)
	}
	if value != nil && r.Status == uicontract.Done {
		return r, uicontract.Decode(r.Value, value)
	}
	return r, nil
}

// Stream is an open stream of events.
type Stream struct {
	client *Client
	body   io.ReadCloser
	lines  *bufio.Reader
	id     string
}

// Stream opens the stream, after the event of the id last if that is not empty. It ends with ctx or Close.
func (c *Client) Stream(ctx context.Context, last string) (*Stream, error) {
	req, err := c.request(ctx, http.MethodGet, uicontract.PathStream, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		return nil, refusal(resp.StatusCode, body)
	}
	return &Stream{client: c, body: resp.Body, lines: bufio.NewReaderSize(resp.Body, 64<<10)}, nil
}

// Next returns the next batch with its id.
func (s *Stream) Next() (id string, batch uicontract.Batch, err error) {
	for {
		line, err := s.lines.ReadBytes('\n')
		if err != nil {
			return "", batch, err
		}
		field, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(": "))
		switch string(field) {
		case "id":
			s.id = string(value)
		case "data":
			if err := uicontract.Decode(value, &batch); err != nil {
				return "", batch, fmt.Errorf("batch %s: %w", s.id, err)
			}
			if batch.Version != uicontract.Version {
				return "", batch, fmt.Errorf("batch %s: %w", s.id, uicontract.ErrVersion)
			}
			for _, e := range batch.Events {
				switch b := e.Body.(type) {
				case *uicontract.Snapshot:
					if b.Owner != nil {
						s.client.learn(b.Owner.Epoch)
					}
				case *uicontract.Owner:
					s.client.learn(b.Epoch)
				}
			}
			return s.id, batch, nil
		}
	}
}

// Close ends the stream.
func (s *Stream) Close() error { return s.body.Close() }
