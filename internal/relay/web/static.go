package web

import (
	_ "embed"
	"net/http"
	"strconv"
)

//go:embed absent.html
var absent []byte

// static serves the page. It needs no key and holds no data.
func (s *Server) static() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.refuse(w, r, http.StatusMethodNotAllowed, "method")
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(s.o.Now().Add(s.o.Write))
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(absent)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(absent) // the other end went away
		}
	})
}
