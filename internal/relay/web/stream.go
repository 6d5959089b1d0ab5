package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// stream sends events until the front end or the server goes away. A front end that does not take a batch within
// Options.Write is cut off; it comes back with the last id it has and misses nothing, or gets a snapshot.
func (s *Server) stream() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet:
			w.Header().Set("Allow", http.MethodGet)
			s.refuse(w, r, http.StatusMethodNotAllowed, "method")
			return
		case r.Header.Get("Sec-Fetch-Site") != "same-origin":
			s.refuse(w, r, http.StatusForbidden, "fetch_site")
			return
		case !s.sameVersion(w, r) || !s.authorised(w, r):
			return
		}
		select {
		case s.streams <- struct{}{}:
			defer func() { <-s.streams }()
		default:
			s.refuse(w, r, http.StatusServiceUnavailable, "streams")
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no")
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Time{})
		if err := s.send(w, control, []byte(": open\n\n")); err != nil {
			return
		}
		s.o.Log.Info("stream opened", "resumed", r.Header.Get("Last-Event-ID") != "")
		err := s.pump(r.Context(), w, control, s.o.Backend.Attach(r.Header.Get("Last-Event-ID")))
		s.o.Log.Info("stream ended", "slow", errors.Is(err, os.ErrDeadlineExceeded))
	})
}

func (s *Server) pump(ctx context.Context, w http.ResponseWriter, control *http.ResponseController, stream Stream) error {
	for {
		wait, cancel := context.WithTimeout(ctx, s.o.Heartbeat)
		id, data, err := stream.Next(wait)
		cancel()
		switch {
		case err == nil:
			data = fmt.Appendf(nil, "id: %s\ndata: %s\n\n", id, data)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			data = []byte(": still here\n\n")
		default:
			return err
		}
		if err := s.send(w, control, data); err != nil {
			return err
		}
	}
}

func (s *Server) send(w http.ResponseWriter, control *http.ResponseController, data []byte) error {
	if err := control.SetWriteDeadline(s.o.Now().Add(s.o.Write)); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	return control.Flush()
}
