package web

import (
	"fmt"
	"mime"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/relay/uicontract"
)

// contentPolicy lets the page load its own files, run the one script of its own text and talk to its own worker, nothing else. The
// one Trusted Types policy is made once, by web/src/markdown; the browser refuses every other one.
//
// It is two policies, and a script has to pass both. A policy with a sum also lets a script be fetched from anywhere if the element
// asks for that sum (its integrity), which would be a way to tell somebody else something; the second one has no sum and holds every
// fetch to this endpoint. What stands in the page's text is for the first one to judge.
var contentPolicy = "default-src 'none'; script-src 'self' '" + bootSum + "'; style-src 'self'; connect-src 'self'; worker-src 'self'; " +
	"img-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; " +
	"trusted-types relaycodex, script-src 'self' 'unsafe-inline'"

// handler is everything that is served. The checks of guard hold for every route, also for those that do not exist.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for path, a := range s.assets {
		if path == "/" {
			path = "/{$}"
		}
		mux.Handle(path, s.static(a))
	}
	mux.Handle(uicontract.PathSession, s.post(false, s.exchange))
	mux.Handle(uicontract.PathCommand, s.post(true, s.command))
	mux.Handle(uicontract.PathStream, s.stream())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.refuse(w, r, http.StatusNotFound, "not_found") })
	return s.guard(mux)
}

func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		defer s.survive()
		origins, sent := r.Header["Origin"]
		switch {
		case r.URL.IsAbs() || r.URL.Host != "" || !slices.Contains(s.hosts, r.Host):
			// A name that an attacker points at 127.0.0.1 arrives with that name here, whatever its Origin says.
			s.refuse(w, r, http.StatusForbidden, "host")
		case sent && !slices.Equal(origins, []string{s.origin}):
			s.refuse(w, r, http.StatusForbidden, "origin")
		case r.RequestURI == "*":
			s.refuse(w, r, http.StatusNotFound, "not_found")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// survive keeps a failure of one request from ending the connection without a trace. The log has where it happened, never
// the value, which could quote what was sent.
func (s *Server) survive() {
	if v := recover(); v != nil {
		s.o.Log.Error("a request failed", "type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
		panic(http.ErrAbortHandler)
	}
}

// post admits requests that only our own page can make: a simple cross-site form has another content type, and a custom
// header needs a permission that this endpoint never gives.
func (s *Server) post(keyed bool, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		charset := strings.ToLower(params["charset"])
		switch {
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			s.refuse(w, r, http.StatusMethodNotAllowed, "method")
		case r.Header.Get("Origin") == "":
			s.refuse(w, r, http.StatusForbidden, "origin")
		case err != nil || kind != "application/json" || charset != "" && charset != "utf-8":
			s.refuse(w, r, http.StatusUnsupportedMediaType, "content_type")
		case !s.sameVersion(w, r):
		case keyed && !s.authorised(w, r):
		default:
			next(w, r)
		}
	})
}

// sameVersion refuses a front end of another contract version (R-UI-04).
func (s *Server) sameVersion(w http.ResponseWriter, r *http.Request) bool {
	sent := r.Header.Values(uicontract.Header)
	if len(sent) == 1 && sent[0] == strconv.Itoa(uicontract.Version) {
		return true
	}
	s.refuse(w, r, http.StatusConflict, "version")
	return false
}

func (s *Server) authorised(w http.ResponseWriter, r *http.Request) bool {
	sent := r.Header.Values("Authorization")
	if len(sent) == 1 {
		if key, ok := strings.CutPrefix(sent[0], "Relay "); ok && s.keys.valid(key) {
			return true
		}
	}
	w.Header().Set("WWW-Authenticate", "Relay")
	s.refuse(w, r, http.StatusUnauthorized, "key")
	return false
}

// refuse answers that nothing was done and why. The log has the rule and the route; nothing that the other end sent.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, rule string) {
	s.o.Log.Info("request refused", "rule", rule, "status", status)
	f := fault.New(fault.RelayEndpoint, fault.Variant(rule))
	s.answer(w, r, status, uicontract.Refusal{Version: uicontract.Version, Problem: uicontract.Explain(s.o.Texts, f)})
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, status int, body any) {
	data, err := uicontract.Encode(body)
	if err != nil {
		s.o.Log.Error("encoding an answer", "err", err)
		status, data = http.StatusInternalServerError, []byte("{}")
	}
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(s.o.Now().Add(s.o.Write)) // not supported by a recorder in tests
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(data) // the other end went away
	}
}
