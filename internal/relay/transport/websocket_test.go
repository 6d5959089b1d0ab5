package transport

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"sekisho/internal/fault"
)

// echo upgrades and sends each message back.
func echo(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(-1)
	for {
		kind, data, err := ws.Read(r.Context())
		if err != nil {
			return
		}
		if err := ws.Write(r.Context(), kind, data); err != nil {
			return
		}
	}
}

// accepting upgrades and then does what f says.
func accepting(f func(context.Context, *websocket.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if ws, err := websocket.Accept(w, r, nil); err == nil {
			defer ws.CloseNow()
			f(r.Context(), ws)
		}
	}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

func serveTLS(t *testing.T, h http.HandlerFunc) (address, caFile string) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return "wss" + strings.TrimPrefix(s.URL, "https"), file(t, string(ca), 0o644)
}

func file(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, e Endpoint) Conn {
	t.Helper()
	conn, err := Dial(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(ShuttingDown) })
	return conn
}

// proves R-CONN-01, R-CONN-05
func TestFramesGoThroughAWebSocket(t *testing.T) {
	plain := serve(t, echo)
	secure, ca := serveTLS(t, echo)
	for _, e := range []Endpoint{{URL: plain}, {URL: secure, CAFile: ca}} {
		conn := open(t, e)
		var writers sync.WaitGroup
		sent := map[string]bool{}
		for i := range 50 {
			frame := fmt.Sprintf(`{"id":%d,"x":%q}`, i, strings.Repeat("é", i*1000))
			sent[frame] = true
			writers.Go(func() {
				if started, err := conn.Write(t.Context(), []byte(frame)); err != nil || !started {
					t.Errorf("started %v, %v", started, err)
				}
			})
		}
		for range 50 {
			got, err := conn.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !sent[string(got)] {
				t.Errorf("a frame of %d bytes was not sent, or came twice", len(got))
			}
			delete(sent, string(got))
		}
		writers.Wait()
		if conn.Kind() != WebSocket {
			t.Errorf("kind %s", conn.Kind())
		}
		conn.Close(ByUser)
		if started, err := conn.Write(t.Context(), []byte(`{}`)); started || ClassOf(err) != Cancelled {
			t.Errorf("write after close: started %v, %v", started, err)
		}
		if _, err := conn.Read(t.Context()); ClassOf(err) != Cancelled {
			t.Errorf("read after close: %v", err)
		}
	}
}

// proves R-CONN-05
// proves R-CONN-05
// proves R-CONN-05
// proves R-CONN-05
// proves R-CONN-05
// proves R-CONN-05
// proves R-PRI-07
// proves R-CONN-05
// proves R-CONN-09
func TestWebSocketFrameLimits(t *testing.T) {
	conn := open(t, Endpoint{URL: serve(t, echo), Limits: Limits{Inbound: 1000}})
	if started, err := conn.Write(t.Context(), make([]byte, MaxOutbound+1)); started || fault.CodeOf(err) != fault.ConnectionOutboundTooLarge {
		t.Errorf("above the limit: started %v, %v", started, err)
	}
	for _, n := range []int{1000, 1001} {
		if _, err := conn.Write(t.Context(), bytes.Repeat([]byte("x"), n)); err != nil {
			t.Fatal(err)
		}
	}
	largestOnly(t, conn)
}

// largestOnly reads two frames under a limit of 1000 bytes: the first has as many; one more is what ended the connection, however often it is read.
func largestOnly(t *testing.T, conn Conn) {
	t.Helper()
	if got, err := conn.Read(t.Context()); err != nil || len(got) != 1000 {
		t.Errorf("the largest frame: %d bytes, %v", len(got), err)
	}
	for range 2 {
		if _, err := conn.Read(t.Context()); fault.CodeOf(err) != fault.ConnectionInboundTooLarge || ClassOf(err) != Config {
			t.Errorf("one byte more: %v", err)
		}
	}
}

// proves R-CONN-09
func TestTheLargestFrameGoesThrough(t *testing.T) {
	conn := open(t, Endpoint{URL: serve(t, echo)})
	done := make(chan error, 1)
	go func() {
		_, err := conn.Write(context.Background(), bytes.Repeat([]byte("x"), MaxOutbound))
		done <- err
	}()
	got, err := conn.Read(t.Context())
	if err := errors.Join(err, <-done); err != nil || len(got) != MaxOutbound {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// proves R-REC-01, R-CONN-05
func TestHowAServerEndsIt(t *testing.T) {
	closing := func(code websocket.StatusCode) func(context.Context, *websocket.Conn) {
		return func(_ context.Context, ws *websocket.Conn) { ws.Close(code, "reason") }
	}
	for name, test := range map[string]struct {
		f     func(context.Context, *websocket.Conn)
		class Class
		code  fault.Code
	}{
		"normal":       {closing(1000), Transient, fault.ConnectionLost},
		"going away":   {closing(1001), Transient, fault.ConnectionLost},
		"internal":     {closing(1011), Transient, fault.ConnectionLost},
		"too big":      {closing(1009), Transient, fault.ConnectionLost},
		"policy":       {closing(1008), Config, fault.ConnectionLost},
		"protocol":     {closing(1002), Config, fault.ConnectionLost},
		"unauthorized": {closing(3000), Auth, fault.ConnectionLost},
		"cut":          {func(_ context.Context, ws *websocket.Conn) { ws.CloseNow() }, Transient, fault.ConnectionLost},
		"binary":       {func(ctx context.Context, ws *websocket.Conn) { ws.Write(ctx, websocket.MessageBinary, []byte("{}")) }, Config, fault.ConnectionProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			conn := open(t, Endpoint{URL: serve(t, accepting(test.f))})
			_, err := conn.Read(t.Context())
			if ClassOf(err) != test.class || fault.CodeOf(err) != test.code {
				t.Errorf("got %s %v", ClassOf(err), err)
			}
			if _, again := conn.Read(t.Context()); !errors.Is(again, err) && again.Error() != err.Error() {
				t.Errorf("the second read: %v", again)
			}
			if started, err := conn.Write(t.Context(), []byte("{}")); started || ClassOf(err) != test.class {
				t.Errorf("write: started %v, %v", started, err)
			}
		})
	}
}

// proves R-CONN-06
func TestHealthIsADiagnostic(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a probe carries the token")
		}
		if r.URL.Path != "/readyz" {
			http.Error(w, "no", http.StatusServiceUnavailable)
		}
	})
	got := Probe(t.Context(), Endpoint{URL: address + "/some/path", TokenFile: file(t, "x", 0o600)})
	if len(got) != 2 || got[0] != (Health{Path: "/readyz", Status: 200}) || got[1] != (Health{Path: "/healthz", Status: 503}) {
		t.Errorf("got %+v", got)
	}
	got = Probe(t.Context(), Endpoint{URL: "ws://127.0.0.1:1"})
	if len(got) != 2 || ClassOf(got[0].Err) != Transient || got[0].Status != 0 {
		t.Errorf("nobody there: %+v", got)
	}
}

func TestUnknownErrorsAreNotTriedAgain(t *testing.T) {
	if ClassOf(io.EOF) != Config || ClassOf(fmt.Errorf("x: %w", context.Canceled)) != Cancelled {
		t.Error("an unclassified error is recoverable")
	}
}
