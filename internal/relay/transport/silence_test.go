package transport

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/fault"
)

// room is a server inside a synctest bubble: connections are pipes.
type room struct {
	conns chan net.Conn
	over  chan struct{}
}

func (r *room) Accept() (net.Conn, error) {
	select {
	case c := <-r.conns:
		return c, nil
	case <-r.over:
		return nil, net.ErrClosed
	}
}
func (r *room) Close() error   { return nil }
func (r *room) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// dialRoom connects to a server that does f with the raw stream after the upgrade.
func dialRoom(t *testing.T, timing Timing, f func(c net.Conn, over <-chan struct{})) (Conn, func()) {
	t.Helper()
	r := &room{conns: make(chan net.Conn), over: make(chan struct{})}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Sec-WebSocket-Accept", accept(req.Header.Get("Sec-WebSocket-Key")))
		w.WriteHeader(http.StatusSwitchingProtocols)
		raw, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer raw.Close()
		f(raw, r.over)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(r)
	}()
	conn, err := dial(t.Context(), Endpoint{URL: "ws://127.0.0.1:1", Timing: timing}, func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case r.conns <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return conn, func() {
		conn.Close(ShuttingDown)
		close(r.over)
		server.Close()
		<-served
	}
}

// report 26
// proves R-CONN-09
func TestAHalfOpenConnectionIsNoticed(t *testing.T) {
	for name, f := range map[string]func(net.Conn, <-chan struct{}){
		"swallows everything": func(c net.Conn, _ <-chan struct{}) { io.Copy(io.Discard, c) },
		"reads nothing":       func(_ net.Conn, over <-chan struct{}) { <-over },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, done := dialRoom(t, Timing{Ping: 15 * time.Second, Pong: 10 * time.Second}, f)
				defer done()
				begin := time.Now()
				_, err := conn.Read(t.Context())
				if ClassOf(err) != Transient || fault.CodeOf(err) != fault.ConnectionLost {
					t.Errorf("read: %v", err)
				}
				if took := time.Since(begin); took > 25*time.Second || took < 15*time.Second {
					t.Errorf("noticed after %v", took)
				}
				if started, err := conn.Write(t.Context(), []byte("{}")); started || ClassOf(err) != Transient {
					t.Errorf("write: started %v, %v", started, err)
				}
			})
		})
	}
}

// proves R-CONN-09
func TestAQuietButLivingConnectionStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, done := dialRoom(t, Timing{Ping: 15 * time.Second}, func(c net.Conn, _ <-chan struct{}) { answerPings(c, 100) })
		defer done()
		begin := time.Now()
		if _, err := conn.Read(t.Context()); ClassOf(err) != Transient {
			t.Errorf("read: %v", err)
		}
		if took := time.Since(begin); took < 100*15*time.Second {
			t.Errorf("a server that answers each ping was left after %v", took)
		}
	})
}

// answerPings is the least of a server: it answers n pings and hangs up.
func answerPings(c net.Conn, n int) {
	header := make([]byte, 6) // client frames: two bytes, four of the mask
	for range n {
		if _, err := io.ReadFull(c, header); err != nil {
			return
		}
		payload := make([]byte, header[1]&0x7f)
		if _, err := io.ReadFull(c, payload); err != nil {
			return
		}
		for i := range payload {
			payload[i] ^= header[2+i%4]
		}
		if header[0] != 0x89 {
			return
		}
		c.Write(append([]byte{0x8a, byte(len(payload))}, payload...))
	}
}

// proves R-CONN-09, R-REC-07
func TestASlowReaderBreaksTheWriteAndItCountsAsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, done := dialRoom(t, Timing{Write: 30 * time.Second, Ping: time.Hour}, func(c net.Conn, over <-chan struct{}) {
			io.ReadFull(c, make([]byte, 100))
			<-over
		})
		defer done()
		go conn.Read(context.Background())
		begin := time.Now()
		started, err := conn.Write(t.Context(), bytes.Repeat([]byte("x"), 1<<20))
		if !started || fault.As(err) == nil || fault.As(err).Variant != "silent" {
			t.Errorf("started %v, %v", started, err)
		}
		if took := time.Since(begin); took != 30*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

// proves R-REC-07
func TestNothingHandedOverIsProved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, done := dialRoom(t, Timing{Ping: time.Hour}, func(c net.Conn, _ <-chan struct{}) { c.Close() })
		defer done()
		synctest.Wait() // the server has hung up; nobody has read that yet
		started, err := conn.Write(t.Context(), []byte("{}"))
		if started || ClassOf(err) != Transient {
			t.Errorf("started %v, %v: the pipe took no byte", started, err)
		}
	})
}

// proves R-CONN-09
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, done := dialRoom(t, Timing{}, func(_ net.Conn, over <-chan struct{}) { <-over })
		defer done()
		begin := time.Now()
		conn.Close(ByUser)
		if took := time.Since(begin); took > closeWait {
			t.Errorf("closing took %v", took)
		}
	})
}

// accept is the server's half of the upgrade (RFC 6455, section 4.2.2).
func accept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}
