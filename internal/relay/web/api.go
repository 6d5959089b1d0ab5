package web

import (
	"errors"
	"io"
	"net/http"
	"time"

	"sekisho/internal/relay/uicontract"
)

// body reads a request's body of at most limit bytes; false means that it was refused.
func (s *Server) body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok && large != nil {
		s.refuse(w, r, http.StatusRequestEntityTooLarge, "too_large")
		return nil, false
	}
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest, "body")
		return nil, false
	}
	// What follows may take longer than reading a request may; the limit would end the request's context.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return data, true
}

func (s *Server) exchange(w http.ResponseWriter, r *http.Request) {
	data, ok := s.body(w, r, 4<<10)
	if !ok {
		return
	}
	var in uicontract.KeyExchange
	if err := uicontract.Decode(data, &in); err != nil {
		s.refuse(w, r, http.StatusBadRequest, "body")
		return
	}
	if in.Version != uicontract.Version {
		s.refuse(w, r, http.StatusConflict, "version")
		return
	}
	session, ok := s.keys.exchange(in.Key)
	if !ok {
		s.refuse(w, r, http.StatusUnauthorized, "key")
		return
	}
	s.o.Log.Info("front end admitted")
	granted := uicontract.SessionGranted{Version: uicontract.Version, Session: session, Channel: s.channel}
	if in.Start != nil {
		// One round trip instead of two. A start that fails is no reason to keep the session back: the page asks again.
		first := s.o.Backend.Execute(s.ctx, uicontract.Command{Version: uicontract.Version, Operation: "start", Kind: uicontract.CmdSnapshot}, in.Start)
		if first.Status == uicontract.Done {
			granted.Start = first.Value
		}
	}
	s.answer(w, r, http.StatusOK, granted)
}

func (s *Server) command(w http.ResponseWriter, r *http.Request) {
	data, ok := s.body(w, r, uicontract.MaxCommand)
	if !ok {
		return
	}
	c, params, err := uicontract.DecodeCommand(data)
	switch {
	case errors.Is(err, uicontract.ErrVersion):
		s.refuse(w, r, http.StatusConflict, "version")
	case err != nil:
		s.refuse(w, r, http.StatusBadRequest, "command")
	default:
		s.answer(w, r, http.StatusOK, s.o.Backend.Execute(s.ctx, c, params))
	}
}
