package transport

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
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
func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"wss://example.com": "ok", "wss://example.com:8443/app": "ok", "ws://127.0.0.1:1": "ok", "ws://localhost:1": "ok", "ws://[::1]:1": "ok", "ws://127.9.9.9:1": "ok",
		"ws://example.com": "plain", "ws://10.0.0.1:1": "plain", "ws://localhost.example.com:1": "plain", "ws://127.0.0.1.example.com": "plain", "ws://0.0.0.0:1": "plain",
		"wss://u:hunter2@example.com": "credentials", "wss://example.com?token=hunter2": "credentials", "wss://example.com/#hunter2": "credentials", "wss://example.com/?": "credentials",
		"https://example.com": "", "example.com": "", "": "", "wss://": "", "wss://:1": "", "wss://example.com:0": "", "wss://example.com:99999": "", "wss:example.com": "", "wss://a b": "",
	} {
		err := Endpoint{URL: address}.Check()
		if want == "ok" {
			if err != nil {
				t.Errorf("%s: %v", address, err)
			}
			continue
		}
		if fault.CodeOf(err) != fault.ConnectionEndpoint || ClassOf(err) != Config || fault.As(err).Variant != want {
			t.Errorf("%s: %v", address, err)
		}
		if err != nil && strings.Contains(fmt.Sprint(err, fault.As(err).Args), "hunter2") {
			t.Errorf("%s: the refusal repeats the secret: %v", address, err)
		}
	}
}

// proves R-CONN-05
func TestANameThatLeavesThisMachineIsNotDialled(t *testing.T) {
	e := Endpoint{URL: "ws://localhost:1"}
	target, err := e.target()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := target.dialer()(t.Context(), "tcp", "192.0.2.1:1")
	if err == nil {
		conn.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "this machine") {
		t.Errorf("dialled: %v", err)
	}
}

// proves R-CONN-05
func TestFailedAttempts(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "hunter2 "+r.Header.Get("Authorization"), code)
		}
	}
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	}
	secure, _ := serveTLS(t, echo)
	plain := serve(t, echo)
	hung := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return "ws://" + l.Addr().String()
	}()
	garbage := serve(t, func(w http.ResponseWriter, r *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			fmt.Fprintf(c, "SSH-2.0-%s\r\n\r\n", r.Header.Get("Authorization"))
			c.Close()
		}
	})
	badAccept := serve(t, func(w http.ResponseWriter, r *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", r.Header.Get("Authorization"))
			c.Close()
		}
	})
	tests := map[string]struct {
		url   string
		class Class
		code  fault.Code
	}{
		"401":              {serve(t, status(401)), Auth, fault.ConnectionUnauthorized},
		"403":              {serve(t, status(403)), Auth, fault.ConnectionUnauthorized},
		"400":              {serve(t, status(400)), Config, fault.ConnectionHandshake},
		"404":              {serve(t, status(404)), Config, fault.ConnectionHandshake},
		"200":              {serve(t, status(200)), Config, fault.ConnectionHandshake},
		"503":              {serve(t, status(503)), Transient, fault.ConnectionHandshake},
		"redirect":         {serve(t, redirect), Config, fault.ConnectionHandshake},
		"refused":          {"ws://127.0.0.1:1", Transient, fault.ConnectionUnreachable},
		"unknown name":     {"wss://no-such-host.invalid", Transient, fault.ConnectionUnreachable},
		"unknown CA":       {secure, TLS, fault.ConnectionCertificate},
		"not TLS":          {"wss" + strings.TrimPrefix(plain, "ws"), TLS, fault.ConnectionCertificate},
		"TLS for plain":    {"ws" + strings.TrimPrefix(secure, "wss"), Config, fault.ConnectionHandshake},
		"hung":             {hung, Transient, fault.ConnectionUnreachable},
		"no HTTP":          {garbage, Config, fault.ConnectionHandshake},
		"wrong acceptance": {badAccept, Config, fault.ConnectionHandshake},
	}
	token := file(t, "canary-7f3a\n", 0o600)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Dial(t.Context(), Endpoint{URL: test.url, TokenFile: token, Timing: Timing{Handshake: handshakeFor(name)}})
			if ClassOf(err) != test.class || fault.CodeOf(err) != test.code {
				t.Errorf("got %s %v, want %s %s", ClassOf(err), err, test.class, test.code)
			}
			for _, secret := range []string{"canary-7f3a", "hunter2"} {
				if err != nil && strings.Contains(fmt.Sprintf("%v %+v %#v %v", err, err, fault.As(err), unwrapAll(err)), secret) {
					t.Errorf("the error repeats %q: %v", secret, err)
				}
			}
		})
	}
}

// proves R-CONN-05
func TestTheWrongNameInACertificateIsRefused(t *testing.T) {
	address, ca := serveTLS(t, echo)
	e := Endpoint{URL: strings.Replace(address, "127.0.0.1", "localhost", 1), CAFile: ca}
	if _, err := Dial(t.Context(), e); ClassOf(err) != TLS {
		t.Errorf("a certificate for another name: %v", err)
	}
}

// proves R-CONN-05
func TestTokenAndCAFiles(t *testing.T) {
	address, ca := serveTLS(t, echo)
	good, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, test := range map[string]struct {
		e    Endpoint
		code fault.Code
	}{
		"no token file":    {Endpoint{TokenFile: filepath.Join(dir, "none"), CAFile: ca}, fault.ConnectionTokenFile},
		"token directory":  {Endpoint{TokenFile: dir, CAFile: ca}, fault.ConnectionTokenFile},
		"open token":       {Endpoint{TokenFile: file(t, "canary", 0o644), CAFile: ca}, fault.ConnectionTokenFile},
		"empty token":      {Endpoint{TokenFile: file(t, "\n", 0o600), CAFile: ca}, fault.ConnectionTokenFile},
		"two lines":        {Endpoint{TokenFile: file(t, "canary\nX: canary", 0o600), CAFile: ca}, fault.ConnectionTokenFile},
		"long token":       {Endpoint{TokenFile: file(t, strings.Repeat("c", maxToken+1), 0o600), CAFile: ca}, fault.ConnectionTokenFile},
		"no CA file":       {Endpoint{CAFile: filepath.Join(dir, "none")}, fault.ConnectionCAFile},
		"CA without PEM":   {Endpoint{CAFile: file(t, "x", 0o600)}, fault.ConnectionCAFile},
		"CA others change": {Endpoint{CAFile: file(t, string(good), 0o666)}, fault.ConnectionCAFile},
	} {
		test.e.URL = address
		_, err := Dial(t.Context(), test.e)
		if ClassOf(err) != Config || fault.CodeOf(err) != test.code {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(fmt.Sprint(err, fault.As(err).Args), "canary") {
			t.Errorf("%s: the error quotes the file: %v", name, err)
		}
	}
}

// proves R-CONN-05
func TestTheTokenIsReadAtEachAttempt(t *testing.T) {
	var got []string
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization")+" "+r.URL.String())
		if _, ok := r.Header["Origin"]; ok {
			t.Error("an Origin header: the real server refuses it")
		}
		if r.Header.Get("Sec-WebSocket-Extensions") != "" {
			t.Error("compression is offered")
		}
		echo(w, r)
	})
	path := file(t, "first\n", 0o600)
	for _, token := range []string{"first", "second"} {
		if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		open(t, Endpoint{URL: address, TokenFile: path}).Close(ByUser)
	}
	if want := "Bearer first /|Bearer second /"; strings.Join(got, "|") != want {
		t.Errorf("got %v", got)
	}
}

// proves R-PRI-07
func TestTheTokenShowsNowhere(t *testing.T) {
	const canary = "canary-51b7e0"
	var logged bytes.Buffer
	var seen sync.WaitGroup
	seen.Add(1)
	address := serve(t, accepting(func(ctx context.Context, ws *websocket.Conn) {
		seen.Done()
		ws.Close(websocket.StatusPolicyViolation, "bad token "+canary)
	}))
	e := Endpoint{URL: address, TokenFile: file(t, canary, 0o600), Log: textLog(&logged)}
	conn := open(t, e)
	seen.Wait()
	_, err := conn.Read(t.Context())
	if ClassOf(err) != Config {
		t.Errorf("a close for policy: %v", err)
	}
	var crash string
	func() {
		defer func() { crash = fmt.Sprintf("%v %+v\n%s", recover(), conn, debug.Stack()) }()
		panic(fmt.Sprintf("%+v %#v %v %+v", e, e, err, conn))
	}()
	conn.Close(ByUser)
	for name, text := range map[string]string{"log": logged.String(), "error": fmt.Sprintf("%v %+v %v", err, err, unwrapAll(err)), "crash": crash, "options": fmt.Sprintf("%+v", e)} {
		if strings.Contains(text, canary) {
			t.Errorf("the token is in the %s", name)
		}
	}
}

// proves R-CONN-05
func TestNoProxyForThisMachine(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	for _, address := range []string{"ws://127.0.0.1:2", "ws://localhost:2", "wss://127.0.0.1:2", "wss://[::1]:2"} {
		e := Endpoint{URL: address}
		target, err := e.target()
		if err != nil {
			t.Fatal(err)
		}
		client, err := e.client(target, target.dialer())
		if err != nil {
			t.Fatal(err)
		}
		if client.Transport.(*http.Transport).Proxy != nil {
			t.Errorf("%s asks a proxy", address)
		}
	}
}

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

func unwrapAll(err error) (texts []string) {
	for ; err != nil; err = errors.Unwrap(err) {
		texts = append(texts, fmt.Sprintf("%v %+v", err, err))
	}
	return texts
}
