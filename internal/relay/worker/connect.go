package worker

import (
	"context"
	"errors"
	"log/slog"

	"sekisho/internal/fault"
	"sekisho/internal/relay/locate"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/recovery"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
)

// Connector makes real connections.
type Connector struct {
	Env []string // of a child; nil is this process's
}

// Connect starts the local server of a profile, or dials its endpoint. A remote server is never started or stopped.
func (c Connector) Connect(ctx context.Context, p profile.Profile, log *slog.Logger) (Link, error) {
	if p.Remote() {
		conn, err := transport.Dial(ctx, endpoint(p, log))
		return Link{Conn: conn}, err
	}
	found, err := locate.Codex(locate.Options{Path: p.Codex})
	if err != nil {
		return Link{}, err
	}
	conn, child, err := transport.StartChild(ctx, transport.ChildOptions{Program: found.Binary, Args: []string{"app-server"}, Dir: p.LocalRoot, Env: c.Env, Log: log})
	return Link{conn, child}, err
}

func endpoint(p profile.Profile, log *slog.Logger) transport.Endpoint {
	return transport.Endpoint{URL: p.Endpoint, TokenFile: p.TokenFile, CAFile: p.CAFile, Log: log}
}

// connect changes to a profile. Enabling a remote one is explicit and lasts as long as the worker (R-CONN-11).
func (w *Worker) connect(ctx context.Context, c *uicontract.Connect) error {
	w.mu.Lock()
	name := c.Profile
	if name == "" {
		name = w.selected
	}
	p, ok := w.o.Profiles.Find(name)
	if ok && c.Enable {
		w.enabled[name] = true
	}
	enabled := w.enabled[name]
	w.mu.Unlock()
	switch {
	case !ok:
		return refused("profile", fault.Arg("profile", name))
	case !enabled:
		return refused("disabled", fault.Arg("profile", name))
	}
	return w.inLane(ctx, "connect "+name, func() error { return w.attempt(ctx, p) })
}

// reconnect replaces the connection by a new one to the same profile. For a local profile that is a new child.
func (w *Worker) reconnect(ctx context.Context) error {
	w.mu.Lock()
	name := w.selected
	w.mu.Unlock()
	return w.connect(ctx, &uicontract.Connect{Profile: name})
}

// disconnect ends the connection; what is shown stays, as last known.
func (w *Worker) disconnect(ctx context.Context) error {
	return w.inLane(ctx, "disconnect", func() error {
		w.drop(transport.ByUser)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.setConnection(w.describe(uicontract.Offline, nil))
		return nil
	})
}

func (w *Worker) inLane(ctx context.Context, kind string, act func() error) error {
	err := w.lane.Do(ctx, kind, act)
	if errors.Is(err, recovery.ErrClosed) || err != nil && ctx.Err() != nil {
		return refused("stopping", fault.Cause(err))
	}
	return err
}

// drop ends the last connection, if it lasts, and waits until nothing of it is left: one that ended by itself may still
// have a process that is ending.
func (w *Worker) drop(why transport.Reason) {
	w.mu.Lock()
	s := w.last
	w.mu.Unlock()
	if s != nil {
		s.end(why)
	}
}

// attempt makes one connection. It runs in the lane, so exactly one generation is active (R-CONN-04): the old one is gone,
// with its process, before the new one begins, because both would want the same thread's writer lock.
func (w *Worker) attempt(ctx context.Context, p profile.Profile) error {
	w.drop(transport.Replaced)
	w.mu.Lock()
	w.selected = p.Name
	w.generation++
	gen := w.generation
	state := uicontract.Connecting
	if w.part != nil {
		state = uicontract.Reconnecting
	}
	w.setConnection(w.describe(state, nil))
	w.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, w.o.Attempt)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	log := w.o.Log.With("generation", uint64(gen))
	log.Info("connecting", "profile", p.Name, "remote", p.Remote())
	link, err := w.o.Connector(ctx, p, log)
	if err == nil {
		err = w.begin(ctx, gen, p, link, log)
	}
	if err != nil {
		log.Warn("not connected", "loss", string(recovery.Classify(err)), "err", codeOf(err))
		w.mu.Lock()
		defer w.mu.Unlock()
		w.setConnection(w.describe(uicontract.AwaitManual, err))
	}
	return err
}

// codeOf is what the log may have of an error: its code, never its text, which can quote the server.
func codeOf(err error) string {
	if f := fault.As(err); f != nil {
		return string(f.Code) + "/" + f.Variant
	}
	return "without a code"
}

// probe asks the health endpoints of a remote profile, connected or not.
func (w *Worker) probe(ctx context.Context) (any, error) {
	w.mu.Lock()
	p, _ := w.o.Profiles.Find(w.selected)
	w.mu.Unlock()
	result := uicontract.ProbeResult{Probes: []uicontract.Probe{}}
	if !p.Remote() {
		return result, nil
	}
	for _, h := range transport.Probe(ctx, endpoint(p, w.o.Log)) {
		probe := uicontract.Probe{Path: h.Path, Status: h.Status}
		if h.Err != nil {
			problem := w.explain(h.Err)
			probe.Problem = &problem
		}
		result.Probes = append(result.Probes, probe)
	}
	return result, nil
}
