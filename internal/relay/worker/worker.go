// Package worker ties a connection to the worker contract: it owns the state of one relaycodex, keyed by Owner and bound
// to a Generation, and turns commands of front ends into calls and what the server says into events.
//
// Threats: the server's words are bounded and escaped or marked as raw before they reach an event; a front end has no
// authority, so every command is judged here again; nothing whose delivery is uncertain is sent twice (the ledger), and
// nothing of one owner is shown to or sent as another (partition).
//
// Goroutines: flush (makes batches), one short one per background read of a session, and rpc's deliverer, which calls the
// session's handler. Close waits for all. Lock order: session.telling, Worker.mu, then the registry's and the event log's;
// none but the first is held across a call to the server. rpc's reader never takes any of them.
package worker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/relay"
	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/recovery"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
)

// Options of a Worker.
type Options struct {
	Profiles profile.Set
	Instance string // id of this instance
	Relay    string // version of relaycodex
	Texts    *locale.Catalogue
	Log      *slog.Logger
	// Connector makes the connection of a profile. Nil is Connector{}.Connect: a supervised child, or the endpoint.
	Connector func(context.Context, profile.Profile, *slog.Logger) (Link, error)
	Attempt   time.Duration // for one whole attempt to connect; default 45 s (R-REC-01)
	Now       func() time.Time
}

// Link is a new connection; Child is nil unless this worker started the server.
type Link struct {
	Conn  transport.Conn
	Child *transport.Child
}

// Worker is one relaycodex. It is safe for concurrent use.
type Worker struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	lane   *recovery.Lane
	asks   *ask.Registry
	events *eventLog
	// messageID makes a clientUserMessageId, fresh for every call (R-REC-07).
	messageID func() string

	mu         sync.Mutex
	ops        operations
	connection uicontract.Connection
	selected   string
	enabled    map[string]bool
	generation relay.Generation // the last one that was given out
	live       *session         // nil without a usable connection
	last       *session         // the last that was live; what belongs to it may outlast it
	part       *partition       // state of the last owner, nil before the first
	epoch      uint64           // of the last partition that was made
	notices    []uicontract.Notice
	noticeID   int64
	closing    bool
}

// New starts a worker without a connection.
func New(ctx context.Context, o Options) *Worker {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Attempt <= 0 {
		o.Attempt = 45 * time.Second
	}
	if o.Connector == nil {
		o.Connector = Connector{}.Connect
	}
	w := &Worker{o: o, lane: recovery.NewLane(), events: newEventLog(), messageID: newMessageID, selected: o.Profiles.Selected, enabled: map[string]bool{}}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.asks = ask.New(w.cardChanged)
	for _, p := range o.Profiles.Profiles {
		w.enabled[p.Name] = p.Enabled
	}
	w.connection = w.describe(uicontract.Offline, nil)
	w.tasks.Go(func() { w.flush(w.ctx) })
	return w
}

// Close ends the connection and waits for everything that the worker started.
func (w *Worker) Close() {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.cancel()
	w.lane.Close(func() { w.drop(transport.ShuttingDown) })
	w.tasks.Wait()
}

// spawn runs a background read that ends with the worker. Without the lock held it would race with Close.
func (w *Worker) spawn(task func()) {
	if !w.closing {
		w.tasks.Go(task)
	}
}

// emit appends an event; the lock is held.
func (w *Worker) emit(kind uicontract.EventKind, body any) { w.events.add(kind, body) }

// setConnection changes what is shown of the connection; the lock is held.
func (w *Worker) setConnection(c uicontract.Connection) {
	w.connection = c
	body := c
	w.emit(uicontract.EvConnection, &body)
}

// describe is the connection of the selected profile in a state; the lock is held, or w not yet shared.
func (w *Worker) describe(state uicontract.ConnectionState, err error) uicontract.Connection {
	p, _ := w.o.Profiles.Find(w.selected)
	c := uicontract.Connection{State: state, Generation: w.generation, Profile: p.Name, Transport: uicontract.Local, Host: hostOf(p), Preview: p.Remote()}
	if p.Remote() {
		c.Transport = uicontract.Remote
	}
	if err != nil {
		problem := w.explain(err)
		c.Problem = &problem
	}
	return c
}

// hostOf is this worker's own word for where a profile's server runs.
func hostOf(p profile.Profile) string {
	if p.Remote() {
		return p.Host()
	}
	return "local"
}

// explain makes a problem of any error; what has no code is this program's own failure.
func (w *Worker) explain(err error) uicontract.Problem {
	f := fault.As(err)
	if f == nil {
		w.o.Log.Error("a failure without a code", "type", fmt.Sprintf("%T", err)) // its text may quote the server
		f = fault.New(fault.RelayInternal, fault.Arg("detail", err.Error()))
	}
	return uicontract.Explain(w.o.Texts, f)
}

// notify says something once; the lock is held.
func (w *Worker) notify(n uicontract.Notice) {
	w.noticeID++
	n.ID, n.AtMs = w.noticeID, w.o.Now().UnixMilli()
	w.notices = append(w.notices, n)
	if over := len(w.notices) - maxNotices; over > 0 {
		w.notices = w.notices[over:]
	}
	w.emit(uicontract.EvNotice, &n)
}

const maxNotices = 200

func newMessageID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand documentation)
	return "relay-" + hex.EncodeToString(b[:])
}
