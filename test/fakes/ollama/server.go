package scriptmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Received is one chat request as it came.
type Received struct {
	Body    json.RawMessage
	Request *ChatRequest
	Rule    string // the rule that answered; "" when none did
}

// Server serves one script. Handler may be used alone, Listen adds a loopback listener.
type Server struct {
	script *Script
	mux    *http.ServeMux

	mu       sync.Mutex
	state    state
	received []Received
	failures []string
	uses     map[string]int
	numCtx   *string
	live     Live

	listener net.Listener
	http     *http.Server
	done     chan struct{}
}

// New returns a server for a script that Parse or Load has checked.
func New(s *Script) *Server {
	v := &Server{script: s, mux: http.NewServeMux(), uses: map[string]int{}, state: state{turns: map[string]int{}, used: map[string]map[int]int{}}}
	v.mux.HandleFunc("GET /{$}", text("Ollama is running"))
	v.mux.HandleFunc("GET /api/version", v.json(func() any { return map[string]string{"version": "0.24.0"} }))
	v.mux.HandleFunc("GET /api/tags", v.json(v.tags))
	v.mux.HandleFunc("GET /api/ps", v.json(v.ps))
	v.mux.HandleFunc("POST /api/show", v.show)
	v.mux.HandleFunc("POST /api/chat", v.chat)
	v.mux.HandleFunc("/api/chat", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusMethodNotAllowed)
		io.WriteString(w, "405 method not allowed")
	})
	return v
}

// Listen serves on a free port of 127.0.0.1 until Close.
func Listen(s *Script) (*Server, error) {
	v := New(s)
	var err error
	if v.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	v.http = &http.Server{Handler: v, ReadHeaderTimeout: 10 * time.Second}
	v.done = make(chan struct{})
	go func() {
		defer close(v.done)
		v.http.Serve(v.listener)
	}()
	return v, nil
}

// TB is the part of testing.TB that Start uses.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Start parses and serves a script for one test, which fails when a request was unexpected.
func Start(t TB, script string) *Server {
	t.Helper()
	s, err := Parse([]byte(script))
	if err != nil {
		t.Fatalf("script: %v", err)
	}
	v, err := Listen(s)
	if err != nil {
		t.Fatalf("scripted model: %v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		v.Close()
		for _, f := range v.Failures() {
			t.Errorf("scripted model: %s", f)
		}
	})
	return v
}

// URL is the base address, without a trailing slash.
func (v *Server) URL() string { return "http://" + v.listener.Addr().String() }

// Close ends the listener and every connection, and returns when no handler runs.
func (v *Server) Close() error {
	err := v.http.Close()
	<-v.done
	return err
}

// ServeHTTP implements http.Handler.
func (v *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { v.mux.ServeHTTP(w, r) }

// Received returns the chat requests so far.
func (v *Server) Received() []Received {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.received)
}

// Failures lists requests that broke a rule of the client or that no rule of the script expected.
func (v *Server) Failures() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.failures)
}

// Uses tells how often a rule answered.
func (v *Server) Uses(rule string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.uses[rule]
}

// fail records a failure and returns the answer that makes it loud.
func (v *Server) fail(format string, args ...any) answer {
	text := fmt.Sprintf(format, args...)
	v.failures = append(v.failures, text)
	return errorAnswer(599, "scriptmodel: "+text)
}
