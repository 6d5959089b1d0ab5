package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/strictjson"
)

// drainTime is how long answers may still be written after the client closed its side (A-MCP-04).
const drainTime = 2 * time.Second

// requestIDHeader carries a request's id to the tool handler, which the SDK does not tell it.
const requestIDHeader = "Sekisho-Request-Id"

// lineTransport is MCP's stdio framing behind the SDK's Transport interface: one JSON value a line.
//
// The SDK's own stdio transport ends the session on one bad line and loses answers at the end of input. Here a bad line is
// answered with a JSON-RPC error, its size and reason (never its payload) go to the log, and the next line is read.
type lineTransport struct {
	in       io.Reader
	out      io.Writer
	log      *slog.Logger
	limit    int
	requests requests
}

// requests is told what happens to the requests of one client, by the keys of their ids, one event after the other: a request
// arrived, the client cancelled it, it is answered. A cancellation may name a request that was answered already (open is false
// then) or that never was. The SDK sees no cancellation: it looks at one in its own time, when the id may be a later request's.
type requests interface {
	arrived(id string)
	cancelled(id string, open bool)
	answered(id string)
}

// Connect starts the reading goroutine; it ends at the end of input, which the owner of in brings about by closing it.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{
		lineTransport: t,
		lines:         make(chan []byte),
		closed:        make(chan struct{}),
		inFlight:      map[string]bool{},
		idle:          make(chan struct{}, 1),
	}
	go c.readLines()
	return c, nil
}

type lineConn struct {
	*lineTransport
	lines   chan []byte // closed at the end of input
	readErr error       // why lines was closed, if not io.EOF; read after lines is closed

	closeOnce sync.Once
	closed    chan struct{}

	mu sync.Mutex // guards inFlight, what requests is told, and writes
	// inFlight maps the ids of unanswered requests to whether the client cancelled them.
	inFlight map[string]bool
	idle     chan struct{} // a token when inFlight became empty
}

// SessionID is empty: a stdio connection has no transport session.
func (c *lineConn) SessionID() string { return "" }

// Close ends Read. It does not close the streams, which belong to the caller.
func (c *lineConn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	return nil
}

func (c *lineConn) readLines() {
	defer close(c.lines)
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		line, size, err := readLine(r, c.limit)
		switch {
		case line == nil && size > c.limit:
			c.refuse(&frameError{code: jsonrpc.CodeInvalidRequest, reason: fmt.Sprintf("message larger than %d bytes", c.limit)}, size)
		case len(line) > 0:
			select {
			case c.lines <- line:
			case <-c.closed:
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.readErr = err
			}
			return
		}
	}
}

// readLine returns the next line without its end, or nil and its size when it is empty or longer than limit. The rest of a
// long line is read and dropped, so that memory stays bounded and the next line is found.
func readLine(r *bufio.Reader, limit int) (line []byte, size int, err error) {
	for {
		part, err := r.ReadSlice('\n')
		size += len(part)
		if size <= limit+1 {
			line = append(line, part...)
		} else {
			line = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if line != nil {
			line = bytes.TrimRight(line, "\r\n")
		}
		return line, size, err
	}
}

// Read returns the next good message. At the end of input it waits until every request is answered, at most drainTime.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case line, ok := <-c.lines:
			if !ok {
				c.drain(ctx)
				if c.readErr != nil {
					return nil, c.readErr
				}
				return nil, io.EOF
			}
			if msg := c.accept(line); msg != nil {
				return msg, nil
			}
		}
	}
}

// accept turns a line into a message for the SDK, or answers it here and returns nil.
func (c *lineConn) accept(line []byte) jsonrpc.Message {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	req, err := parseFrame(line)
	if err != nil {
		var refused *frameError
		if errors.As(err, &refused) {
			c.refuse(refused, len(line))
		} else {
			c.log.Warn("dropped a frame", "bytes", len(line), "reason", err.Error())
		}
		return nil
	}
	if req.IsCall() {
		key := idKey(req.ID)
		c.mu.Lock()
		_, busy := c.inFlight[key]
		if !busy {
			c.inFlight[key] = false
			c.requests.arrived(key)
		}
		c.mu.Unlock()
		if busy {
			c.refuse(&frameError{code: jsonrpc.CodeInvalidRequest, reason: "member id is that of a request still being served"}, len(line))
			return nil
		}
		req.Extra = &mcp.RequestExtra{Header: http.Header{requestIDHeader: {key}}}
		return req
	}
	if req.Method == "notifications/cancelled" {
		c.noteCancelled(req.Params)
		return nil
	}
	return req
}

func (c *lineConn) noteCancelled(params json.RawMessage) {
	var p struct {
		RequestID jsontext.Value `json:"requestId"`
	}
	if err := strictjson.UnmarshalOpen(params, FrameLimit, &p); err != nil {
		return // nobody answers a bad notification, and it cancels nothing
	}
	id, err := parseID(p.RequestID)
	if err != nil || !id.IsValid() {
		return
	}
	key := idKey(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.inFlight[key]
	if open {
		c.inFlight[key] = true
	}
	c.requests.cancelled(key, open)
}

// refuse logs a bad frame by size and reason and answers it. The id is null where it is not certain.
func (c *lineConn) refuse(e *frameError, size int) {
	c.log.Warn("refused a frame", "bytes", size, "reason", e.reason)
	data := e.encode()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.out.Write(append(data, '\n')); err != nil {
		c.log.Error("writing a refusal", "error", err)
	}
}

// Write sends one message as one line. The answer to a request that the client cancelled is dropped, as MCP asks.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if resp, ok := msg.(*jsonrpc.Response); ok {
		key := idKey(resp.ID)
		dropped := c.inFlight[key]
		delete(c.inFlight, key)
		c.requests.answered(key)
		if len(c.inFlight) == 0 {
			select {
			case c.idle <- struct{}{}:
			default:
			}
		}
		if dropped {
			return nil
		}
		if resp.Error != nil {
			_, err := c.out.Write(append(errorMessage(resp.ID, safeError(resp.Error)), '\n'))
			return err
		}
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	_, err = c.out.Write(append(data, '\n'))
	return err
}

func (c *lineConn) drain(ctx context.Context) {
	deadline := time.NewTimer(drainTime)
	defer deadline.Stop()
	for {
		c.mu.Lock()
		open := len(c.inFlight)
		c.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-c.idle:
		case <-deadline.C:
			c.log.Warn("input ended with requests unanswered", "requests", open)
			return
		case <-ctx.Done():
			return
		case <-c.closed:
			return
		}
	}
}

// idKey distinguishes the string "1" from the integer 1.
func idKey(id jsonrpc.ID) string { return fmt.Sprintf("%T:%v", id.Raw(), id.Raw()) }
