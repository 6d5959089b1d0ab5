package httpd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// door is the handler of admitted connections.
type door struct {
	*Server
	bodies budget
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := Record{Time: time.Now(), Verb: verb(r.Method), Endpoint: "other"}
	if target(r) == Path {
		rec.Endpoint = Path
	}
	counted := &counter{ResponseWriter: w, status: http.StatusOK}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	rec.In, rec.Routing = d.serve(counted, r)
	rec.Status, rec.Out = counted.status, counted.written
	rec.Duration = time.Since(rec.Time)
	d.config.Record(rec)
}

// serve returns the size of the body that was read.
func (d *door) serve(w http.ResponseWriter, r *http.Request) (int64, Routing) {
	if no := d.gate.check(r); no != nil {
		return 0, no.write(w, r)
	}
	body, release, no := d.body(r)
	defer release()
	if no != nil {
		return int64(len(body)), no.write(w, r)
	}
	// A client that closes its connection cancels nothing: what it asked for is done.
	return int64(len(body)), d.config.Answer.Answer(w, r.WithContext(context.WithoutCancel(r.Context())), body)
}

// write answers at once, without waiting for a body, and ends the connection. What the client is still sending is thrown away
// for a moment, because the kernel would reset the connection under the answer.
func (no *refusal) write(w http.ResponseWriter, r *http.Request) Routing {
	// Without this the HTTP server would read what is left of a small body before it answers, and after its answer for as long
	// as a body may take. Both fail only for what is no HTTP/1 connection.
	c := http.NewResponseController(w)
	c.EnableFullDuplex()
	c.SetReadDeadline(time.Now().Add(refusalTime))
	h := w.Header()
	h.Set("Connection", "close")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	switch no.status {
	case http.StatusMethodNotAllowed:
		h.Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	h.Set("Content-Length", strconv.Itoa(len(no.text)+1))
	w.WriteHeader(no.status)
	io.WriteString(w, no.text+"\n")
	if c.Flush() == nil && r.Header.Get("Expect") == "" { // who expects to be asked for the body sends none
		io.CopyN(io.Discard, r.Body, MaxBody)
	}
	return Routing{Reason: no.reason}
}

// firstRead is the memory that a body gets before any of it has arrived.
const firstRead = 64 << 10

// body reads the whole body. Its memory is taken from the budget before it is allocated, as the body grows: what a client
// only announces costs nothing. Release gives the memory back.
func (d *door) body(r *http.Request) (body []byte, release func(), _ *refusal) {
	most := MaxBody + 1 // one more, so that the end, or the excess, is seen without growing
	if r.ContentLength >= 0 {
		most = int(r.ContentLength) + 1
	}
	size := min(firstRead, most)
	taken := 0
	release = func() { d.bodies.give(taken) }
	grow := func(to int) bool {
		if !d.bodies.take(to - taken) {
			return false
		}
		taken = to
		body = append(make([]byte, 0, to), body...)
		return true
	}
	busy := &refusal{http.StatusServiceUnavailable, "bodies", "Too many large requests at a time."}
	if !grow(size) {
		return nil, release, busy
	}
	for {
		if len(body) == cap(body) {
			if !grow(min(2*cap(body), most)) {
				return body, release, busy
			}
		}
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > MaxBody:
			return body, release, tooLarge
		case errors.Is(err, io.EOF) && len(body) == 0:
			return body, release, &refusal{http.StatusBadRequest, "empty", "The body is empty."}
		case errors.Is(err, io.EOF):
			return body, release, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return body, release, &refusal{http.StatusRequestTimeout, "body_timeout", "The body did not arrive in time."}
		case err != nil:
			return body, release, &refusal{http.StatusBadRequest, "body", "The body could not be read."}
		}
	}
}

// budget is memory that may be taken and given back.
type budget struct {
	mu   sync.Mutex
	free int
}

func (b *budget) take(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.free {
		return false
	}
	b.free -= n
	return true
}

func (b *budget) give(n int) {
	b.mu.Lock()
	b.free += n
	b.mu.Unlock()
}

// counter notes what was answered.
type counter struct {
	http.ResponseWriter
	status  int
	written int64
	wrote   bool
}

// Unwrap is for http.ResponseController.
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counter) WriteHeader(status int) {
	if !c.wrote {
		c.status, c.wrote = status, true
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *counter) Write(p []byte) (int, error) {
	c.wrote = true
	n, err := c.ResponseWriter.Write(p)
	c.written += int64(n)
	return n, err
}

func verb(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}
