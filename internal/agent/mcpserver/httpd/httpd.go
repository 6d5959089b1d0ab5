// Package httpd is the loopback HTTP door of the server: who may come in, and how much at a time (A-MCP-05). It knows
// neither MCP nor JSON; an Answerer gets the whole body of each admitted request.
//
// Threats, in the order in which they are met:
//   - another user of the machine: told apart by the owner of the peer's socket right after accept. Such a connection is
//     answered 403 and never reaches the HTTP parser; it holds none of the connections that the server's user can have.
//   - a web page in the user's own browser (DNS rebinding, cross-site requests): Host, Origin and Sec-Fetch-Site are compared
//     exactly, the content type must be application/json, and there are no CORS answers.
//   - a client running away or reading slowly: at most MaxConnections, header and body time-outs, MaxBody for one body and
//     MaxBodies for all bodies at a time, which are counted as they arrive and not as they are announced.
//
// Lock order: none; the listener's and the budget's locks are never held together.
package httpd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Limits. Sizes are bytes.
const (
	MaxConnections = 64
	MaxBody        = 40 << 20
	MaxBodies      = 128 << 20 // of all requests at a time
	maxHeader      = 16 << 10
)

// times are how long a client may take. A value of zero in Config stands for the default.
type times struct {
	header time.Duration // for the head of a request
	body   time.Duration // for its body
	answer time.Duration // to read the answer
	idle   time.Duration // between requests; an idle connection also makes room for a new one before
}

var usual = times{header: 10 * time.Second, body: 30 * time.Second, answer: time.Minute, idle: 5 * time.Minute}

// Path is the one endpoint.
const Path = "/mcp"

// Answerer handles admitted requests.
type Answerer interface {
	// Answer answers one POST to the endpoint, sent by a process of this user. Body is whole, not empty and the callee's. The
	// request's context does not end when the client goes. It returns what the log may know.
	Answer(w http.ResponseWriter, r *http.Request, body []byte) Routing
}

// Routing is the routing metadata of a request, taken from closed sets, never from the client's text.
type Routing struct {
	Protocol string // protocol version, "" when none was named, "other" for one that is not known
	Method   string // MCP method, or "other"
	Tool     string // name of the tool, or ""
	Reason   string // why it was refused, or ""
}

// Record is one answered request or refused connection, for the request log.
type Record struct {
	Time     time.Time
	Duration time.Duration
	Verb     string // HTTP method, or "other"
	Endpoint string // Path, or "other"
	Status   int
	In, Out  int64 // bytes of the bodies
	Routing
}

// Config is what a Server needs; all fields are required.
type Config struct {
	Addr   netip.AddrPort // a loopback address
	Answer Answerer
	// Owner tells the user of a connection's peer; an error means that it cannot be told.
	Owner func(*net.TCPConn) (uid int, err error)
	Self  int // the user whose processes are served
	// Record takes what happened. It is called from many goroutines and must not block.
	Record func(Record)
	Log    *slog.Logger

	times times // tests only
}

// Server is a door that is open from Listen on.
type Server struct {
	config   Config
	gate     gate
	listener *listener
	http     *http.Server
}

// Listen opens the port. A client that connects from now on is answered once Serve runs.
func Listen(c Config) (*Server, error) {
	if c.times == (times{}) {
		c.times = usual
	}
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(c.Addr))
	if err != nil {
		return nil, err
	}
	addr := l.Addr().(*net.TCPAddr).AddrPort() // another one than c.Addr when that names port 0
	s := &Server{config: c, gate: newGate(addr), listener: newListener(l, c)}
	s.http = &http.Server{
		Handler:                      &door{Server: s, bodies: budget{free: MaxBodies}},
		ReadHeaderTimeout:            c.times.header,
		ReadTimeout:                  c.times.header + c.times.body,
		WriteTimeout:                 c.times.header + c.times.body + c.times.answer,
		IdleTimeout:                  c.times.idle,
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true,
		ConnState:                    s.listener.state,
		ErrorLog:                     slog.NewLogLogger(c.Log.With("component", "http").Handler(), slog.LevelWarn),
	}
	return s, nil
}

// URL is the address for clients.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + Path }

// Serve answers until Shutdown or Close, and returns nil then.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close closes the port and cuts off what is being answered. It may follow Shutdown, and is harmless then.
func (s *Server) Close() error {
	err := errors.Join(s.http.Close(), ignoreClosed(s.listener.Close()))
	s.listener.wait()
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Shutdown closes the port, then waits for the requests that are being answered; when ctx ends before, it cuts them off.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	s.listener.wait()
	return err
}
