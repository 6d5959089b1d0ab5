package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"sekisho/internal/fault"
)

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

// proves R-REC-01, R-CONN-05: what a failed attempt means, and so whether another one can help.
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
			e := Endpoint{URL: test.url, TokenFile: token}
			if name == "hung" {
				e.Timing.Handshake = 50 * time.Millisecond
			}
			_, err := Dial(t.Context(), e)
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

func TestTheWrongNameInACertificateIsRefused(t *testing.T) {
	address, ca := serveTLS(t, echo)
	e := Endpoint{URL: strings.Replace(address, "127.0.0.1", "localhost", 1), CAFile: ca}
	if _, err := Dial(t.Context(), e); ClassOf(err) != TLS {
		t.Errorf("a certificate for another name: %v", err)
	}
}

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

// report 47
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

func unwrapAll(err error) (texts []string) {
	for ; err != nil; err = errors.Unwrap(err) {
		texts = append(texts, fmt.Sprintf("%v %+v", err, err))
	}
	return texts
}
