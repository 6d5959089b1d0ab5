// Package replies holds replies of small local models that went wrong somewhere, and what our runtime is to do about
// each. The bodies are our own reconstructions of public reports; every case names its source.
package replies

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"sync"

	"sekisho/internal/strictjson"
)

//go:embed testdata/*.json
var files embed.FS

// Case is one reported failure.
type Case struct {
	ID        string     `json:"id"`
	Source    string     `json:"source"`
	Title     string     `json:"title"`
	Phase     string     `json:"phase"` // run or plan
	Task      Task       `json:"task"`
	Responses []Response `json:"responses"` // one per model call
	Expect    Expect     `json:"expect"`
}

// Task is the planner task during which the replies come.
type Task struct {
	RequiresExternalEffect bool     `json:"requires_external_effect"`
	RequiredTools          []string `json:"required_tools"`
	Tools                  []string `json:"tools"`
	EstimatedPromptTokens  int      `json:"estimated_prompt_tokens"`
	NumCtx                 *int     `json:"num_ctx"`
}

// Response is one HTTP answer: Body as JSON, or Raw as it stands.
type Response struct {
	Status  int               `json:"status"`
	Body    json.RawMessage   `json:"body"`
	Raw     *string           `json:"raw"`
	Headers map[string]string `json:"headers"`
}

// Expect says how the case ends.
type Expect struct {
	Class    string     `json:"class"`
	Dispatch []Dispatch `json:"dispatch"` // the calls that may reach the policy engine
	Handling string     `json:"handling"`
}

// Dispatch is one call.
type Dispatch struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// Load returns every case, ordered by id.
func Load() ([]Case, error) {
	entries, err := files.ReadDir("testdata")
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, e := range entries {
		data, err := files.ReadFile(path.Join("testdata", e.Name()))
		if err != nil {
			return nil, err
		}
		var c Case
		if err := strictjson.Unmarshal(data, 1<<20, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		if c.ID+".json" != e.Name() || len(c.Responses) == 0 {
			return nil, fmt.Errorf("%s: id %q, %d responses", e.Name(), c.ID, len(c.Responses))
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// Server plays a case: the responses in order, the last one again for every further call.
type Server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
}

// Serve starts a server for c on loopback; the caller closes it. /api/show tells of a model that can do everything.
func Serve(c Case) *Server {
	s := &Server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/show":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"capabilities":["completion","tools","thinking","vision"],"model_info":{"scripted.context_length":131072}}`)
		case "/api/chat":
			s.chat(w, r, c)
		default:
			http.NotFound(w, r)
		}
	}))
	return s
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request, c Case) {
	var body json.RawMessage
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<20)).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	resp := c.Responses[min(len(s.bodies), len(c.Responses)-1)]
	s.bodies = append(s.bodies, body)
	s.mu.Unlock()
	for k, v := range resp.Headers {
		w.Header().Set(k, v)
	}
	if resp.Raw != nil {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(resp.Status)
		fmt.Fprint(w, *resp.Raw)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(resp.Status)
	w.Write(resp.Body)
}

// Requests returns the bodies of the chat calls so far.
func (s *Server) Requests() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}
