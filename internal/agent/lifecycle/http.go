package lifecycle

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"sekisho/internal/agent/config"
	"sekisho/internal/agent/config/reserved"
	"sekisho/internal/agent/mcpserver/httpd"
	"sekisho/internal/agent/mcpserver/requestlog"
	"sekisho/internal/agent/mcpserver/sockowner"
	"sekisho/internal/fault"
)

const (
	// lastAnswers is how long requests that are being answered may take once everything else has stopped.
	lastAnswers = 5 * time.Second
	// logFlush is how long the request log may take to write what is queued.
	logFlush = 2 * time.Second
)

// openHTTP opens the port (A-MCP-05). Clients come and go; only a signal, or a failure, ends the server.
func (s *session) openHTTP(ctx context.Context, addr netip.AddrPort, a *assembly, logs *logs) (*transport, error) {
	self := os.Geteuid()
	if err := sockowner.Check(addr.Addr(), self); err != nil {
		if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
			return nil, portFault(addr, err)
		}
		return nil, fault.New(fault.PreflightMissingPrimitive, fault.Variant("peer_owner"), fault.Target("sock_diag"), fault.Cause(err))
	}
	// Before it listens: whoever got a connection finds the mark, however short a time ago the port was opened.
	mark, err := a.instance.Mark(ctx, reserved.DoorMark(int(addr.Port())))
	if err != nil {
		return nil, err
	}
	record, flush, err := requestLog(s.loaded.Config.Logging, s, logs)
	if err != nil {
		return nil, errors.Join(err, mark.Close())
	}
	door, err := httpd.Listen(httpd.Config{Addr: addr, Answer: a.server, Owner: sockowner.PeerUID, Self: self, Record: record, Log: logs.Logger})
	if err != nil {
		return nil, errors.Join(portFault(addr, err), flush(), mark.Close())
	}
	serve := func(ctx context.Context) error {
		// The port is open: who connects now is answered (A-MCP-10).
		logs.Info("ready", "transport", config.TransportHTTP, "endpoint", door.URL())
		served := make(chan error, 1)
		go func() { served <- door.Serve() }()
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
		}
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
		defer cancel()
		if err := door.Shutdown(stopping); err != nil {
			logs.Warn("requests were cut off", "error", err)
		}
		return <-served
	}
	return &transport{serve: serve, ended: "transport ended", close: func() {
		door.Close()
		if err := mark.Close(); err != nil {
			logs.Warn("the mark of the HTTP port", "error", err)
		}
		if err := flush(); err != nil {
			logs.Warn("the HTTP request log is not complete", "error", err)
		}
	}}, nil
}

// requestLog opens http.jsonl if it is wanted (A-MCP-09).
func requestLog(c config.Logging, s *session, logs *logs) (record func(httpd.Record), flush func() error, _ error) {
	if !c.HTTPRequests {
		return func(httpd.Record) {}, func() error { return nil }, nil
	}
	if err := logs.openHTTP(s.Files, c); err != nil {
		return nil, nil, err
	}
	l := requestlog.New(requestlog.Sinks{Lines: logs.http, Text: logs.both, Form: logs.form, Log: logs.Logger})
	return l.Add, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), logFlush)
		defer cancel()
		return l.Close(ctx)
	}, nil
}

// portFault explains why the port could not be opened, and who has it.
func portFault(addr netip.AddrPort, err error) error {
	opts := []fault.Option{fault.Target(addr.String()), fault.Arg("port", addr.Port()), fault.Cause(err)}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		h, unknown := sockowner.ListenerOn(addr)
		switch {
		case unknown == nil && h.PID > 0:
			opts = append(opts, fault.Variant("in_use_process"), fault.Arg("pid", h.PID), fault.Arg("name", strconv.Quote(h.Name)))
		case unknown == nil:
			opts = append(opts, fault.Variant("in_use_user"), fault.Arg("user", h.UID))
		default:
			opts = append(opts, fault.Variant("in_use"))
		}
	case errors.Is(err, os.ErrPermission):
		opts = append(opts, fault.Variant("privileged"))
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
		opts = append(opts, fault.Variant("absent"))
	default:
		opts = append(opts, fault.Arg("reason", err))
	}
	return fault.New(fault.ServerAddressUnusable, opts...)
}
