// Package responses is a loopback model provider that speaks the Responses API over server-sent events, so that the real
// Codex CLI can make real turns without an account.
//
// The last user text that starts with "SCN " chooses what the model does:
//
//	SCN text WORDS          answers WORDS, one delta a word
//	SCN flood N [SIZE]      answers N deltas of SIZE bytes (default 4) as fast as they are read
//	SCN slow N MS           answers N deltas, MS milliseconds apart
//	SCN clock N MS          the same, each delta the time at which it was made (Unix nanoseconds)
//	SCN gate NAME WORDS     answers WORDS, but waits before the last word until Release(NAME)
//	SCN call NAME JSON      calls the function NAME; with its output in the input, answers "tool done (N)"
//	SCN nscall NS NAME JSON the same in the namespace NS, as tools of MCP servers are called
//	SCN custom NAME TEXT    calls the free-form tool NAME
//	SCN plan                calls update_plan with two steps
//	SCN reason              a reasoning summary, then an answer
//	SCN fail STATUS         HTTP STATUS with an error body
//	SCN hang                starts an answer and never goes on
//
// Any other text is answered by "ok", or after Tutor by a scripted tutor.
package responses

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxBody bounds a request: a thread of 20,000 deltas comes back as input.
const maxBody = 256 << 20

// Request is one request as it came.
type Request struct {
	Path          string
	Body          json.RawMessage
	Scenario      string   // what was done, without "SCN "
	Model         string   // as asked for
	Tools         []string // names offered to the model
	Outputs       []Output // tool outputs after the user text that chose the scenario
	Authorization bool     // whether a credential came; its value is not kept
}

// Output is what a tool gave back to the model.
type Output struct {
	Type string
	Text string
}

// Server is a running provider.
type Server struct {
	listener net.Listener
	http     *http.Server
	served   chan struct{}
	over     chan struct{}
	tutor    bool // texts that choose no scenario are answered by the tutor

	mu       sync.Mutex
	requests []Request
	changed  chan struct{} // closed and replaced at each request
	gates    map[string]*gate
	closing  sync.Once
}

type gate struct {
	open chan struct{}
	once sync.Once
}

// Listen serves on addr, such as 127.0.0.1:0, until Close.
func Listen(addr string) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: l, served: make(chan struct{}), over: make(chan struct{}), changed: make(chan struct{}), gates: map[string]*gate{}}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		s.http.Serve(l)
	}()
	return s, nil
}

// TB is the part of testing.TB that Start uses.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Start serves on a free port of 127.0.0.1 for one test.
func Start(t TB) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatalf("starting the model provider: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// URL is the provider's base_url.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Close ends all answers and waits until nothing listens any more.
func (s *Server) Close() {
	s.closing.Do(func() {
		close(s.over)
		s.http.Close()
	})
	<-s.served
}

// Requests returns the answered requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Changed returns a channel that is closed at the next request.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Release lets the answers of "SCN gate NAME" go on, now and later.
func (s *Server) Release(name string) {
	g := s.gate(name)
	g.once.Do(func() { close(g.open) })
}

func (s *Server) gate(name string) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[name] == nil {
		s.gates[name] = &gate{open: make(chan struct{})}
	}
	return s.gates[name]
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/models"):
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"object":"list","data":[{"id":"fake-model","object":"model"}],"models":[]}`)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/responses"):
		s.respond(w, r)
	default:
		http.Error(w, "{}", http.StatusNotFound)
	}
}

func (s *Server) respond(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "{}", http.StatusBadRequest)
		return
	}
	var in input
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, `{"error":{"message":"not JSON"}}`, http.StatusBadRequest)
		return
	}
	scenario, outputs := in.scenario()
	n := s.note(Request{
		Path: r.URL.Path, Body: body, Scenario: scenario, Model: in.Model, Tools: in.tools(), Outputs: outputs,
		Authorization: r.Header.Get("Authorization") != "",
	})
	name, rest, _ := strings.Cut(scenario, " ")
	if name == "fail" {
		status, err := strconv.Atoi(rest)
		if err != nil || status < 400 || status > 599 {
			status = http.StatusInternalServerError
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, `{"error":{"message":"fake failure","type":"server_error","code":"fake"}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	a := &answer{server: s, w: w, gone: r.Context().Done(), n: n}
	a.created()
	if s.tutor && scenario == unchosen {
		a.teach(in)
		return
	}
	a.play(name, rest, len(outputs))
}

// note keeps the request and returns its number, from 1.
func (s *Server) note(r Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	close(s.changed)
	s.changed = make(chan struct{})
	return len(s.requests)
}
