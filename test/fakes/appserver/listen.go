package appserver

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// maxFrame is what the real server takes; a larger frame makes it cut the connection without a word.
const maxFrame = 16 << 20

// ListenOptions describes a WebSocket listener.
type ListenOptions struct {
	Addr  string // default 127.0.0.1:0
	Token string // the bearer token it asks for; "" asks for none
	TLS   *Authority
}

// Listener is a WebSocket listener as the real server has it: any path upgrades, /readyz and /healthz answer 200 without a
// token, an Origin header is refused everywhere, a missing or wrong token is 401.
type Listener struct {
	URL string // ws://127.0.0.1:PORT or wss://localhost:PORT

	server   *Server
	options  ListenOptions
	http     *http.Server
	listener net.Listener
	served   chan struct{}
}

// Listen accepts connections until Close.
func (s *Server) Listen(o ListenOptions) (*Listener, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	tcp, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	l := &Listener{server: s, options: o, listener: tcp, served: make(chan struct{})}
	l.URL = "ws://" + tcp.Addr().String()
	serving := net.Listener(icyListener{tcp})
	if o.TLS != nil {
		_, port, _ := net.SplitHostPort(tcp.Addr().String())
		l.URL = "wss://localhost:" + port
		serving = tls.NewListener(serving, o.TLS.server())
	}
	l.http = &http.Server{Handler: l, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }}
	go func() {
		defer close(l.served)
		l.http.Serve(serving)
	}()
	return l, nil
}

// StartListen is Listen for one test.
func (s *Server) StartListen(t TB, o ListenOptions) *Listener {
	t.Helper()
	l, err := s.Listen(o)
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	t.Cleanup(l.Close)
	return l
}

// Close refuses further connections; upgraded ones go on until their script or client ends them.
func (l *Listener) Close() {
	l.http.Close()
	<-l.served
}

type connKey struct{}

// ServeHTTP implements http.Handler.
func (l *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case len(r.Header.Values("Origin")) > 0:
		w.WriteHeader(http.StatusForbidden)
	case r.URL.Path == "/readyz", r.URL.Path == "/healthz":
	case l.options.Token != "" && r.Header.Get("Authorization") == "":
		http.Error(w, "missing websocket bearer token", http.StatusUnauthorized)
	case l.options.Token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(l.options.Token)) != 1:
		http.Error(w, "invalid websocket bearer token", http.StatusUnauthorized)
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		w.WriteHeader(http.StatusBadRequest)
	default:
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		ws.SetReadLimit(-1)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		l.server.play(l.server.begin(), &wsLink{ws: ws, ctx: ctx, cancel: cancel, ice: icy(r.Context().Value(connKey{}))})
		ws.CloseNow()
	}
}

// wsLink is the server's end of a WebSocket.
type wsLink struct {
	ws     *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc
	ice    *icyConn
}

func (l *wsLink) read() ([]byte, error) {
	for {
		kind, data, err := l.ws.Read(l.ctx)
		if err != nil {
			return nil, err
		}
		if len(data) > maxFrame {
			l.drop()
			return nil, errors.New("frame too large")
		}
		if kind == websocket.MessageText { // a binary one is not even logged by the real server
			return data, nil
		}
	}
}

func (l *wsLink) write(frame []byte, binary bool) error {
	kind := websocket.MessageText
	if binary {
		kind = websocket.MessageBinary
	}
	return l.ws.Write(l.ctx, kind, frame)
}

func (l *wsLink) close(code int) { l.ws.Close(websocket.StatusCode(closeCode(code)), "") }
func (l *wsLink) drop()          { l.ws.CloseNow() }
func (l *wsLink) exit(int)       { l.ws.CloseNow() }
func (l *wsLink) freeze()        { l.ice.freeze() }

// icyConn can be frozen: what is written then vanishes, and nothing is read any more.
type icyConn struct {
	net.Conn
	once sync.Once
	ice  chan struct{}
}

type icyListener struct{ net.Listener }

func (l icyListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &icyConn{Conn: c, ice: make(chan struct{})}, nil
}

// icy finds the connection below TLS.
func icy(c any) *icyConn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	ic, _ := c.(*icyConn)
	return ic
}

func (c *icyConn) freeze() { c.once.Do(func() { close(c.ice) }) }

// Read implements net.Conn. Frozen, it swallows what comes and still notices the end, so that nothing waits for ever.
func (c *icyConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		select {
		case <-c.ice:
			if err != nil {
				return 0, err
			}
		default:
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *icyConn) Write(p []byte) (int, error) {
	select {
	case <-c.ice:
		return len(p), nil
	default:
		return c.Conn.Write(p)
	}
}
