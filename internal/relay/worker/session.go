package worker

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/owner"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/rpc"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/turn"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/visible"
)

// session is one Connection Generation of the worker. It implements rpc.Handler; its methods are called one at a time.
type session struct {
	w       *Worker
	gen     relay.Generation
	profile profile.Profile
	link    Link
	client  *rpc.Client
	log     *slog.Logger
	ctx     context.Context // ends with the generation
	cancel  context.CancelFunc
	server  uicontract.Server
	version string
	telling sync.Mutex // orders what cards are told about their changes; taken before Worker.mu

	// The rest is guarded by Worker.mu.
	part    *partition // nil until the owner is known; then it does not change
	turns   *turn.State
	after   []func() // what the notification at hand leaves to do without the lock
	early   []rpc.Request
	ended   bool
	closing transport.Reason // why this side ended it, if it did
	invalid error            // why it may not be used any more, although it works

	accountNotices uint64                  // how often the account may have changed
	doubtful       bool                    // a notice came, and no reading of the account after it
	confirming     bool                    // the account is being read
	reads          map[relay.ThreadID]bool // threads that are being read again; true: once more after that
	background     chan struct{}           // places for those

	opening map[relay.ThreadID]*reading // threads that are being read for whoever opens them
}

// begin speaks the handshake, finds out whose server it is, and makes the session the live one.
func (w *Worker) begin(ctx context.Context, gen relay.Generation, p profile.Profile, link Link, log *slog.Logger) error {
	s := &session{w: w, gen: gen, profile: p, link: link, log: log, turns: turn.New(gen),
		reads: map[relay.ThreadID]bool{}, background: make(chan struct{}, maxBackground), opening: map[relay.ThreadID]*reading{}}
	s.ctx, s.cancel = context.WithCancel(w.ctx)
	s.client = rpc.New(link.Conn, rpc.Options{Generation: gen, Handler: s, Log: w.o.Log})
	err := s.handshake(ctx)
	if err == nil {
		err = s.settleOwner(ctx)
	}
	if err != nil {
		s.cancel()
		s.client.Close(transport.ByUser)
		s.client.Wait()
		return s.because(err)
	}
	w.mu.Lock()
	w.spawn(s.firstReads)
	if link.Child != nil {
		w.spawn(s.watchChild)
	}
	w.mu.Unlock()
	return nil
}

// because prefers the reason of the connection over that of the call that it broke.
func (s *session) because(err error) error {
	if cause := s.client.Err(); cause != nil && transport.ClassOf(cause) != transport.Cancelled {
		return cause
	}
	return err
}

// handshake sends the pinned client version, because the model catalogue depends on it (R-CON-04). experimentalApi is
// declared because the server strips the extra permissions of a command approval for clients that do not (R-INT-03).
func (s *session) handshake(ctx context.Context) error {
	var result codex.InitializeResult
	params := codex.InitializeParams{ClientInfo: codex.ClientInfo{Name: clientName, Title: clientName, Version: codex.Target},
		Capabilities: &codex.Capabilities{ExperimentalAPI: true}}
	if _, err := s.client.Call(ctx, codex.Initialize, params, &result, rpc.CallOptions{}); err != nil {
		return err
	}
	s.version = versionOf(result.UserAgent)
	s.client.SetVersion(s.version)
	s.server = uicontract.Server{Version: s.version, Pinned: codex.Pinned(s.version), UserAgent: visible.Line(result.UserAgent, 200),
		PlatformFamily: visible.Line(result.PlatformFamily, 40), PlatformOS: visible.Line(result.PlatformOS, 40)}
	s.log.Info("initialized", "version", visible.Line(s.version, 40), "pinned", s.server.Pinned)
	return s.client.Notify(ctx, codex.Initialized, nil)
}

const clientName = "relaycodex"

// versionOf reads the server's version out of its user agent, "<client>/<version> (…". "" is unknown.
func versionOf(userAgent string) string {
	_, rest, ok := strings.Cut(userAgent, "/")
	version, _, _ := strings.Cut(rest, " ")
	if !ok || len(version) > 40 || strings.Trim(version, "0123456789.abcdefghijklmnopqrstuvwxyz-") != "" {
		return ""
	}
	return version
}

// goLive makes s the live session of its owner. State of another owner goes before the new one becomes active (R-PRI-05).
// An account that a notice overtook, since heard of them were known, is no answer.
func (s *session) goLive(account codex.AccountReadResult, heard uint64) error {
	w := s.w
	whose, label, err := ownerOf(s.profile, account)
	if err != nil {
		return err
	}
	w.mu.Lock()
	if s.ended { // the handler heard of the end already, and there was nothing to settle
		w.mu.Unlock()
		return fault.New(fault.CallNotSent, fault.Variant("closed"), fault.Cause(s.client.Err()))
	}
	select {
	case <-s.client.Done():
		w.mu.Unlock()
		return s.client.Err()
	default:
	}
	if s.accountNotices != heard {
		w.mu.Unlock()
		return errOvertaken
	}
	var gone *partition
	if w.part != nil && w.part.owner != whose {
		gone = w.part
		w.forgetOwner()
	}
	isNew := w.part == nil
	if isNew {
		w.epoch++
		w.part = newPartition(whose)
		w.part.epoch = w.epoch
	}
	s.part = w.part
	s.part.gen, s.part.label = s.gen, label
	if isNew {
		w.emit(uicontract.EvOwner, s.part.shown())
	}
	for _, t := range s.part.threads {
		t.win.Rebind(s.gen)
	}
	w.live, w.last = s, s
	c := w.describe(uicontract.Connected, nil)
	c.Server = &s.server
	if s.link.Child != nil {
		c.Process = &uicontract.Process{PID: s.link.Child.PID(), Running: true}
	}
	w.setConnection(c)
	early := s.early
	s.early = nil
	w.mu.Unlock()
	if gone != nil {
		w.asks.EndOwner(gone.owner)
	}
	for _, r := range early {
		s.Request(r)
	}
	return nil
}

// ownerOf says whose state a session of a profile has, and what to call the account.
func ownerOf(p profile.Profile, r codex.AccountReadResult) (relay.Owner, string, error) {
	id := owner.Identity{Provider: "openai"}
	if !r.RequiresOpenAIAuth {
		id.Provider = "own" // one that the server is configured with; account/read does not name it
	}
	label := "none"
	if r.Account != nil {
		id.Type, id.Email = r.Account.Type, r.Account.Email
		label = visible.Line(strings.TrimSpace(r.Account.Type+" "+r.Account.Email), 200)
	}
	o, err := owner.Derive(p.Name, id, p.ServerRoot)
	return o, label, err
}

// end closes the connection from this side and waits until the handler has heard of it.
func (s *session) end(why transport.Reason) {
	s.w.mu.Lock()
	s.closing = why
	s.w.mu.Unlock()
	s.cancel()
	s.client.Close(why)
	s.client.Wait()
}

// process tells how the child ended, apart from the connection (R-CONN-06).
func (s *session) process() *uicontract.Process {
	if s.link.Child == nil {
		return nil
	}
	p := &uicontract.Process{PID: s.link.Child.PID()}
	if exit, ok := s.link.Child.Exit(); ok {
		p.Exit, p.Stderr = exit.String(), exit.Stderr
	} else {
		p.Running = true
	}
	return p
}

// watchChild shows the end of the process when it comes, which is after the end of the connection (R-CONN-06).
func (s *session) watchChild() {
	<-s.link.Child.Exited()
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.connection.Generation == s.gen {
		c := w.connection
		c.Process = s.process()
		w.setConnection(c)
	}
}
