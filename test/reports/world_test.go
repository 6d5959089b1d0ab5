package reports

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/relay/web"
	"sekisho/internal/relay/worker"
	"sekisho/test/fakes/appserver"
	"sekisho/test/goroutines"
	"sekisho/test/headless"
	"sekisho/test/relayworld"
)

func TestMain(m *testing.M) {
	if transport.SuperviseChild() || actAsServer() {
		return
	}
	goroutines.Main(m)
}

// patience bounds every wait of a test. Nothing but a failure waits that long.
const patience = 2 * time.Minute

// ready is the handshake and the answers that a connection needs before anything else.
func ready() appserver.Script { return readyAs("0.159.1") }

func readyAs(version string) appserver.Script {
	return appserver.Scripts(appserver.HandshakeAs(version), appserver.Script{
		appserver.Auto("account/read", appserver.Object{"account": nil, "requiresOpenaiAuth": false}),
		appserver.Auto("thread/list", appserver.Page(nil)), appserver.Auto("model/list", appserver.Page(nil)),
	})
}

// readable answers the reads of a thread, whose newest items are given newest first.
func readable(thread appserver.Object, next any, items ...any) appserver.Script {
	return appserver.Script{
		appserver.Auto("thread/read", appserver.Object{"thread": thread}),
		appserver.Auto("thread/turns/list", appserver.Page(nil)),
		appserver.Auto("thread/items/list", appserver.Page(next, items...)),
	}
}

// desk is a worker with its endpoint and a front end, connected to a fake server.
type desk struct {
	relayworld.Front
	t        *testing.T
	server   *appserver.Server
	log      *relayworld.Log
	worker   *worker.Worker
	endpoint *web.Server
	owner    uint64 // epoch, for commands that go around the client
}

type setup struct {
	profile   profile.Profile
	connector relayworld.Connect
	alone     bool // no front end, and no connection yet
	inside    bool // of a synctest bubble: no endpoint
}

// over connects by a WebSocket to a listener of the server.
func (s *setup) over(t *testing.T, server *appserver.Server, token string) {
	t.Helper()
	l := server.StartListen(t, appserver.ListenOptions{Token: token})
	s.profile = profile.Profile{Name: "remote", Endpoint: l.URL, LocalRoot: appserver.Dir, ServerRoot: appserver.Dir, Enabled: true}
	if token != "" {
		s.profile.TokenFile = tokenFile(t, token)
	}
	s.connector = worker.Connector{}.Connect
}

// start makes a desk over in-process connections that play scripts, one after the other, and connects.
func start(t *testing.T, scripts ...appserver.Script) *desk {
	t.Helper()
	return startOn(t, appserver.Start(t, scripts...), setup{})
}

func startOn(t *testing.T, server *appserver.Server, s setup) *desk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Hour)
	t.Cleanup(cancel)
	d := &desk{Front: relayworld.Front{T: t, Ctx: ctx, Patience: patience}, t: t, server: server, log: &relayworld.Log{}}
	if s.profile.Name == "" {
		s.profile = profile.Profile{Name: "local", LocalRoot: appserver.Dir, ServerRoot: appserver.Dir, Enabled: true}
	}
	if s.connector == nil {
		s.connector = func(context.Context, profile.Profile, *slog.Logger) (worker.Link, error) {
			return worker.Link{Conn: server.Pipe()}, nil
		}
	}
	o := relayworld.Options{Profiles: []profile.Profile{s.profile}, Connect: s.connector, Log: d.log}
	if s.inside {
		var err error
		if d.worker, err = relayworld.NewWorker(ctx, o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.worker.Close)
		return d
	}
	made, err := relayworld.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	d.worker, d.endpoint = made.Worker, made.Endpoint
	t.Cleanup(func() {
		if err := made.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("received: %v\nlog:\n%s", server.Received(), d.log)
		}
	})
	if s.alone {
		return d
	}
	d.Join(d.endpoint.Address(), "")
	d.Must(d.Do(uicontract.CmdConnect, uicontract.Connect{}, nil))
	return d
}

// page is another page, from the beginning.
func (d *desk) page() (*headless.Client, *headless.Watcher) {
	d.t.Helper()
	return d.Page(d.endpoint.Address(), "")
}

// refused requires that a command was refused with a code and a variant; nothing was sent then.
func (d *desk) refused(r uicontract.Result, code, variant string) {
	d.t.Helper()
	d.ended(r, uicontract.Refused, code, variant)
}

func (d *desk) ended(r uicontract.Result, status uicontract.Status, code, variant string) {
	d.t.Helper()
	if r.Status != status || r.Problem == nil || r.Problem.Code != code || r.Problem.Variant != variant || r.Problem.Text == "" || r.Problem.Remedy == "" {
		d.t.Errorf("got %s %+v, want %s %s/%s", r.Status, r.Problem, status, code, variant)
	}
}

func (d *desk) look(f func(*headless.View)) {
	d.t.Helper()
	d.Watch.Look(f)
}

// sent requires how often a method was sent so far.
func (d *desk) sent(method string, n int) []appserver.Message {
	d.t.Helper()
	got := d.server.Sent(method)
	if len(got) != n {
		d.t.Errorf("%s was sent %d times, want %d: %v", method, len(got), n, got)
	}
	return got
}

// received waits until the server has n messages of a method.
func (d *desk) received(method string, n int) {
	d.t.Helper()
	for {
		changed := d.server.Changed()
		if len(d.server.Sent(method)) >= n {
			return
		}
		select {
		case <-changed:
		case <-d.Ctx.Done():
			d.t.Fatalf("waiting for %s: %v", method, d.server.Received())
		}
	}
}

// answers are the replies to requests of the server.
func (d *desk) answers() []string {
	var list []string
	for _, m := range d.server.Received() {
		if m.Kind == appserver.Result || m.Kind == appserver.Failure {
			list = append(list, string(m.Raw))
		}
	}
	return list
}

// held waits until the script stands at a gate.
func (d *desk) held(gate string) {
	d.t.Helper()
	select {
	case <-d.server.Held(gate):
	case <-time.After(patience):
		d.t.Fatalf("nobody came to the gate %s; failures: %v", gate, d.server.Err())
	}
}

// shown is the open thread t, zero while there is none.
func shown(v *headless.View) uicontract.ThreadView {
	if o := v.Open("t"); o != nil {
		return *o
	}
	return uicontract.ThreadView{}
}

// outcome is the last one that was told.
func outcome(v *headless.View) uicontract.Outcome {
	if len(v.Outcomes) == 0 {
		return uicontract.Outcome{}
	}
	return v.Outcomes[len(v.Outcomes)-1]
}

// draft is the text of thread t.
func draft(v *headless.View) string {
	for _, d := range v.Drafts {
		if d.Thread == "t" {
			return d.Text
		}
	}
	return ""
}
