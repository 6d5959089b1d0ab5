package rpc

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/transport"
	"sekisho/internal/visible"
)

// Client is one generation. It is safe for concurrent use.
type Client struct {
	conn      transport.Conn
	opts      Options
	gen       relay.Generation
	log       *slog.Logger
	version   atomic.Pointer[string]
	slots     *places
	out       *outbox
	in        *inbox
	over      chan struct{} // closed when everything is settled
	wg        sync.WaitGroup
	delivered sync.WaitGroup
	stats     counters

	mu       sync.Mutex
	nextID   int64
	calls    map[int64]*call
	requests requests
	closing  bool  // this side ends it; what still arrives is ignored
	ended    bool  // no call and no answer starts any more
	cause    error // why, if it is known before the reader's error
	err      error
	drain    *time.Timer
	named    map[string]bool // names of unknown notifications in the log
}

type counters struct {
	garbage, unknown, malformed, refused, duplicates, late, retries, dropped atomic.Uint64
}

// New starts the generation opts.Generation over conn, which then belongs to the Client.
func New(conn transport.Conn, opts Options) *Client {
	if opts.Jitter == nil {
		opts.Jitter = rand.Float64
	}
	if opts.Drain <= 0 {
		opts.Drain = 2 * time.Second
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	c := &Client{
		conn: conn, opts: opts, gen: opts.Generation, log: opts.Log.With("generation", uint64(opts.Generation)),
		slots: newPlaces(MaxInFlight), out: newOutbox(), in: newInbox(), over: make(chan struct{}),
		calls: map[int64]*call{}, requests: requests{byID: map[relay.RequestID]*pending{}}, named: map[string]bool{},
	}
	c.SetVersion(opts.Version)
	c.wg.Add(2)
	c.delivered.Add(1)
	go c.read()
	go c.write()
	go c.deliver()
	return c
}

// Generation numbers this connection.
func (c *Client) Generation() relay.Generation { return c.gen }

// SetVersion tells the server's version once it is known; error answers are classified by it.
func (c *Client) SetVersion(v string) { c.version.Store(&v) }

// Version is the server's version, "" before it is known.
func (c *Client) Version() string { return *c.version.Load() }

// Done is closed when the generation has ended and every call and request of it is settled. The process behind the
// connection may still be ending: see Close.
func (c *Client) Done() <-chan struct{} { return c.over }

// Err is why the generation ended, nil before. Its class is transport.ClassOf.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the generation, if it lasts, and waits until the connection and what belongs to it are gone, so that the
// next generation finds no writer of the same thread. Notifications that the Handler has not taken are discarded.
func (c *Client) Close(reason transport.Reason) {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.in.silence()
	_ = c.conn.Close(reason) // the reason is already the generation's end
	c.wg.Wait()
}

// Wait waits until the Handler has been told Ended. It does not end anything.
func (c *Client) Wait() { c.delivered.Wait() }

// Stats returns the counters.
func (c *Client) Stats() Stats {
	s := &c.stats
	return Stats{Garbage: s.garbage.Load(), Unknown: s.unknown.Load(), Malformed: s.malformed.Load(), Refused: s.refused.Load(),
		Duplicates: s.duplicates.Load(), Late: s.late.Load(), Retries: s.retries.Load(), Dropped: s.dropped.Load()}
}

// read is the reader. Frames that arrived before the end are all dispatched before the end is (case: the answer and EOF
// arrive together).
func (c *Client) read() {
	defer c.wg.Done()
	for {
		frame, err := c.conn.Read(context.Background())
		if err != nil {
			c.finish(err)
			return
		}
		c.frame(frame)
	}
}

// broken notes that nothing more can be written. What the server sent before is still read: its answers count.
func (c *Client) broken(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.drain != nil {
		return
	}
	if c.cause == nil {
		c.cause = err
	}
	c.wg.Add(1)
	c.drain = time.AfterFunc(c.opts.Drain, func() {
		defer c.wg.Done()
		_ = c.conn.Close(transport.Replaced)
	})
}

// breach ends the generation because the server broke the protocol beyond what is tolerated.
func (c *Client) breach(detail string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.closing {
		return
	}
	c.closing = true
	c.cause = &transport.Error{Class: transport.Config, Fault: fault.New(fault.ConnectionProtocol, fault.Arg("detail", detail))}
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		_ = c.conn.Close(transport.BadPeer)
	}()
}

// finish settles everything, in this order: no new call or answer starts; what was not written never is; what was
// written and not answered is unknown; requests are retired; the Handler is told.
func (c *Client) finish(err error) {
	c.mu.Lock()
	c.ended = true
	if c.cause != nil {
		err = c.cause
	}
	c.err = err
	if c.drain != nil && c.drain.Stop() {
		c.wg.Done()
	}
	keys := c.requests.all()
	c.requests.byID = map[relay.RequestID]*pending{}
	c.mu.Unlock()

	c.out.close(err)
	// Before anybody is told: whoever hears of the end must find the generation done.
	close(c.over)
	for _, id := range keys {
		c.in.retire(relay.Key{Generation: c.gen, Request: id}, GenerationEnded)
	}
	c.in.add(event{ended: &ended{err}})
	c.log.Info("connection ended", "class", string(transport.ClassOf(err)), "error", err.Error())
	_ = c.conn.Close(transport.Replaced)
}

// frame dispatches one frame.
func (c *Client) frame(frame []byte) {
	m, err := parse(frame)
	if err != nil {
		if c.stats.garbage.Add(1) <= maxOddities {
			c.log.Warn("a frame is no message", "bytes", len(frame))
		}
		return
	}
	switch {
	case m.method != "" && m.id.Valid():
		c.serverRequest(m, len(frame))
	case m.method != "":
		c.notification(m, len(frame))
	default:
		c.response(m)
	}
}

// maxOddities bounds the lines that a server can cause in the log with one kind of nonsense.
const maxOddities = 100

func (c *Client) notification(m message, size int) {
	c.mu.Lock()
	ignored := c.closing
	c.mu.Unlock()
	if ignored {
		return
	}
	n, err := codex.DecodeNotification(m.method, m.params)
	if err != nil {
		if c.stats.malformed.Add(1) <= maxOddities {
			c.log.Warn("a notification has not the known shape", "method", m.method, "reason", err.Error())
		}
		c.in.lose(Lost{Malformed: 1})
		return
	}
	if o, ok := n.(*codex.Other); ok {
		c.ignore(o)
		return
	}
	if r, ok := n.(*codex.RequestResolved); ok {
		c.resolved(r.RequestID)
	}
	if dropped := c.in.notify(n, size); dropped > 0 {
		c.stats.dropped.Add(uint64(dropped))
		c.log.Warn("notifications were dropped: state must be read again", "count", dropped)
	}
}

// ignore logs the name of a notification that nobody here uses, once per name (R-CON-07).
func (c *Client) ignore(o *codex.Other) {
	if !o.Known {
		c.stats.unknown.Add(1)
	}
	c.mu.Lock()
	first := !c.named[o.Name] && len(c.named) < maxOddities
	if first {
		c.named[o.Name] = true
	}
	c.mu.Unlock()
	if first {
		c.log.Info("a notification is not used", "method", visible.Line(o.Name, 100), "known", o.Known)
	}
}
