package reports

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sekisho/config"
	"sekisho/internal/locale"
	"sekisho/internal/relay"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/relay/web"
	"sekisho/internal/relay/worker"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

func TestMain(m *testing.M) {
	if transport.SuperviseChild() || actAsServer() {
		return
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait of a test. Nothing but a failure waits that long.
const patience = 20 * time.Second

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

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func texts(t *testing.T) *locale.Catalogue {
	t.Helper()
	english, err := locale.Parse(shipped.English())
	if err != nil {
		t.Fatal(err)
	}
	return locale.New(locale.English, english, english)
}

// desk is a worker with its endpoint and a front end, connected to a fake server.
type desk struct {
	t        *testing.T
	ctx      context.Context
	server   *appserver.Server
	log      *buffer
	worker   *worker.Worker
	endpoint *web.Server
	client   *headless.Client
	watch    *headless.Watcher
	owner    uint64 // epoch, for commands that go around the client
}

type setup struct {
	profile   profile.Profile
	connector func(context.Context, profile.Profile, *slog.Logger) (worker.Link, error)
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
	d := &desk{t: t, ctx: ctx, server: server, log: &buffer{}}
	if s.profile.Name == "" {
		s.profile = profile.Profile{Name: "local", LocalRoot: appserver.Dir, ServerRoot: appserver.Dir, Enabled: true}
	}
	if s.connector == nil {
		s.connector = func(context.Context, profile.Profile, *slog.Logger) (worker.Link, error) {
			return worker.Link{Conn: server.Pipe()}, nil
		}
	}
	log := slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d.worker = worker.New(ctx, worker.Options{Profiles: profile.Set{Profiles: []profile.Profile{s.profile}, Selected: s.profile.Name}, Instance: "i", Relay: "test",
		Texts: texts(t), Log: log, Connector: s.connector})
	t.Cleanup(d.worker.Close)
	if s.inside {
		return d
	}
	var err error
	if d.endpoint, err = web.Listen(ctx, "127.0.0.1:0", web.Options{Backend: backend{d.worker}, Texts: texts(t), Log: log}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		limited, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := d.endpoint.Close(limited); err != nil {
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
	d.client, d.watch = d.page("")
	d.must(d.do(uicontract.CmdConnect, uicontract.Connect{}, nil))
	return d
}

type backend struct{ *worker.Worker }

func (b backend) Attach(id string) web.Stream { return b.Worker.Attach(id) }

// page is a fresh front end that resumes after the event last.
func (d *desk) page(last string) (*headless.Client, *headless.Watcher) {
	d.t.Helper()
	client, err := headless.Connect(d.ctx, d.endpoint.Address())
	if err != nil {
		d.t.Fatal(err)
	}
	watch, err := client.Watch(d.ctx, last)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		watch.Look(func(v *headless.View) {
			for _, m := range v.Mismatch {
				d.t.Errorf("the page: %s", m)
			}
		})
		watch.Close()
		client.Close()
	})
	d.waitOn(watch, "the beginning", func(v *headless.View) bool { return v.Batches > 0 })
	return client, watch
}

func (d *desk) do(kind uicontract.CommandKind, params, value any) uicontract.Result {
	d.t.Helper()
	r, err := d.client.Do(d.ctx, kind, params, value)
	if err != nil {
		d.t.Fatalf("%s: %v", kind, err)
	}
	return r
}

func (d *desk) must(r uicontract.Result) {
	d.t.Helper()
	if r.Status != uicontract.Done {
		d.t.Fatalf("%s: %+v", r.Status, r.Problem)
	}
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

func (d *desk) wait(what string, cond func(*headless.View) bool) {
	d.t.Helper()
	d.waitOn(d.watch, what, cond)
}

func (d *desk) waitOn(watch *headless.Watcher, what string, cond func(*headless.View) bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.ctx, patience)
	defer cancel()
	if err := watch.Wait(ctx, what, cond); err != nil {
		watch.Look(func(v *headless.View) {
			d.t.Logf("connection %+v; cards %+v; outcomes %+v; notices %+v; events %v", v.Connection, v.Cards, v.Outcomes, v.Notices, v.Log[max(0, len(v.Log)-30):])
		})
		d.t.Fatal(err)
	}
}

func (d *desk) look(f func(*headless.View)) {
	d.t.Helper()
	d.watch.Look(f)
}

// thread starts a thread.
func (d *desk) thread() relay.ThreadID {
	d.t.Helper()
	var ref uicontract.ThreadRef
	d.must(d.do(uicontract.CmdThreadStart, uicontract.ThreadStart{}, &ref))
	return ref.Thread
}

// send sends a message and returns its turn.
func (d *desk) send(id relay.ThreadID, text string) relay.TurnID {
	d.t.Helper()
	var sent uicontract.TurnSent
	d.must(d.do(uicontract.CmdTurnSend, uicontract.TurnSend{Thread: id, Text: text}, &sent))
	return sent.Turn
}

// turn waits until a thread shows a turn with a status.
func (d *desk) turn(id relay.ThreadID, turn relay.TurnID, status string) {
	d.t.Helper()
	d.wait(fmt.Sprintf("turn %s %s", turn, status), func(v *headless.View) bool {
		t := v.Open(id)
		return t != nil && t.Head.Turn == turn && t.Head.TurnStatus == status
	})
}

// card waits for the one pending card of a thread.
func (d *desk) card(id relay.ThreadID) uicontract.Card {
	d.t.Helper()
	var card uicontract.Card
	d.wait("a card", func(v *headless.View) bool {
		cards := v.Pending(id)
		if len(cards) > 0 {
			card = cards[0]
		}
		return len(cards) == 1
	})
	return card
}

// cardIs waits until a card is in a state.
func (d *desk) cardIs(id, state string) {
	d.t.Helper()
	d.wait("card "+id+" "+state, func(v *headless.View) bool {
		c := v.Card(id)
		return c != nil && string(c.State) == state
	})
}

// choose answers a card with the choice of a kind.
func (d *desk) choose(card uicontract.Card, kind string) uicontract.Result {
	d.t.Helper()
	for _, c := range card.Choices {
		if c.Kind == kind {
			return d.do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Choice: c.ID}, nil)
		}
	}
	d.t.Fatalf("the card offers no %s: %+v", kind, card.Choices)
	return uicontract.Result{}
}

func kinds(card uicontract.Card) string {
	var list []string
	for _, c := range card.Choices {
		list = append(list, c.Kind)
	}
	return strings.Join(list, " ")
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
		case <-d.ctx.Done():
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
