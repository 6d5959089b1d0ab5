// Package web serves the worker contract and the page on loopback (R-UI-01): HTTP POST up, one event stream down.
//
// Threats: other pages in the person's browser (cross-site requests, DNS rebinding, cookies that a browser shares between
// ports), other programs of other users on this machine (they reach the port but have no key), and leaks of keys (URLs,
// logs, Referer). Against them: a fixed Host allow-list on every route, an exact Origin wherever one is sent, a session
// key in a header and no cookie, a one-time key in a URL fragment, which no browser sends, and a content policy that lets
// the page load nothing from elsewhere. Programs of the same user are trusted, as they could read the worker's memory.
//
// What net/http cannot read as a request (400, 431) it answers itself: plain text that quotes nothing, without our headers.
// Connections above maxConnections wait in the system's queue; the time limits of reading free the places.
//
// Lock order: keys.mu is a leaf; nothing is called while it is held.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/relay"
	"sekisho/internal/relay/uicontract"
)

// Backend is the worker behind the endpoint.
type Backend interface {
	// Execute carries out one command. It returns when the result is definite; ctx ends with the endpoint, not with the
	// request, because an operation that was begun has an outcome whether or not the page waits for it.
	Execute(ctx context.Context, c uicontract.Command, params any) uicontract.Result
	// Attach starts a stream after the event with that id, or from a snapshot when the id is empty or no longer known.
	Attach(lastEventID string) Stream
}

// Stream is one front end's place in the events.
type Stream interface {
	// Next waits for the next batch and returns its id and its JSON, one line.
	Next(ctx context.Context) (id string, data []byte, err error)
}

// Options of a Server. Zero durations take the defaults.
type Options struct {
	Backend   Backend
	Texts     *locale.Catalogue
	Log       *slog.Logger
	KeyLife   time.Duration // of a one-time key; default 10 minutes
	Heartbeat time.Duration // silence on a stream after which a comment is sent; default 15 s
	Write     time.Duration // for one answer or batch; default 10 s
	Now       func() time.Time
}

// Server is one endpoint.
type Server struct {
	o        Options
	listener net.Listener
	hosts    []string // the only Hosts that are served
	origin   string   // the only Origin that is accepted
	keys     *keys
	dir      string           // of scripts and styles, of this endpoint alone
	assets   map[string]asset // by path
	channel  string           // what the admitted tabs of one browser find each other by
	streams  chan struct{}    // one place per open stream
	http     *http.Server
	ctx      context.Context // ends with the server; what commands run under
	stop     context.CancelFunc
	done     chan struct{}
	closing  sync.Once
	err      error
}

// Limits of what is open at once; streams leave connections for commands.
const (
	maxStreams     = 64
	maxConnections = 2 * maxStreams
)

// Listen opens the endpoint on a loopback address such as 127.0.0.1:0 and serves until Close. Any other address is
// relay.listen_address.
func Listen(ctx context.Context, address string, o Options) (*Server, error) {
	addr, err := netip.ParseAddrPort(address)
	if err != nil || !addr.Addr().IsLoopback() || addr.Addr().Is4In6() || addr.Addr().Zone() != "" {
		return nil, fault.New(fault.RelayListenAddress, fault.Target(address), fault.Arg("address", address), fault.Cause(err))
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr.String())
	if err != nil {
		return nil, fault.New(fault.RelayListenAddress, fault.Variant("unavailable"), fault.Target(address), fault.Arg("address", address), fault.Cause(err))
	}
	return serve(ctx, l, o), nil
}

func serve(ctx context.Context, l net.Listener, o Options) *Server {
	setDefault(&o.KeyLife, 10*time.Minute)
	setDefault(&o.Heartbeat, 15*time.Second)
	setDefault(&o.Write, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	hosts, origin := names(l.Addr().String())
	l = &limited{Listener: l, places: make(chan struct{}, maxConnections), closed: make(chan struct{})}
	s := &Server{o: o, listener: l, hosts: hosts, origin: origin, keys: newKeys(o.KeyLife, o.Now),
		streams: make(chan struct{}, maxStreams), done: make(chan struct{})}
	s.channel, _ = newKey()
	random, _ := newKey()
	s.dir = assetDir + random + "/"
	s.assets = assets(s.dir)
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(fixed{o.Log.Handler()}, slog.LevelWarn),
		// OPTIONS * is judged like every other request.
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return s.ctx },
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("the endpoint ended", "err", err)
		}
	}()
	return s
}

// names are the Hosts by which a browser asks for an address, and its Origin. Browsers leave port 80 out.
func names(address string) (hosts []string, origin string) {
	short, is80 := strings.CutSuffix(address, ":80")
	if is80 {
		return []string{short, address}, "http://" + short
	}
	return []string{address}, "http://" + address
}

func setDefault(d *time.Duration, v time.Duration) {
	if *d <= 0 {
		*d = v
	}
}

// Addr is the address that is served.
func (s *Server) Addr() netip.AddrPort { return s.listener.Addr().(*net.TCPAddr).AddrPort() }

// Address makes a fresh page address with a one-time key in its fragment. It is printed for a person and never logged.
func (s *Server) Address() string { return s.origin + "/#" + s.keys.issue() }

// ThreadFragment is what makes a page address show a thread; nothing for no thread. It fails for what is no id of one.
func ThreadFragment(id relay.ThreadID) (string, error) {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	switch {
	case id == "":
		return "", nil
	case len(id) > 128 || strings.ContainsFunc(string(id), odd):
		return "", errors.New("that is no id of a thread")
	}
	return "&thread=" + string(id), nil
}

// Close stops serving: open streams end, and commands under way are waited for until ctx ends.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() {
		s.keys.revoke()
		// Streams end by the context that they wait under; a command that still runs gets the chance to be answered.
		s.stop()
		s.err = s.http.Shutdown(ctx)
		if s.err != nil {
			s.err = errors.Join(fmt.Errorf("closing the endpoint: %w", s.err), s.http.Close())
		}
		<-s.done
	})
	return s.err
}
