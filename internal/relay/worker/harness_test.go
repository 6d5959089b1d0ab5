package worker

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"sekisho/config"
	"sekisho/internal/locale"
	"sekisho/internal/relay"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/goroutines"
	"sekisho/test/headless"
)

func TestMain(m *testing.M) { goroutines.Main(m) }

type object = appserver.Object

// reads answers what a worker reads after connecting.
func readsOf(account object, threads ...any) appserver.Script {
	return appserver.Script{
		appserver.Auto("account/read", object{"account": account, "requiresOpenaiAuth": false}),
		appserver.Auto("thread/list", appserver.Page(nil, threads...)),
		appserver.Auto("model/list", appserver.Page(nil)),
	}
}

// greeted is a connection up to the point where a person can act.
func greeted(parts ...appserver.Script) appserver.Script {
	return appserver.Scripts(append([]appserver.Script{readsOf(nil), appserver.Handshake()}, parts...)...)
}

// bench is a worker with a fake server and one page, all in one bubble.
type bench struct {
	*Worker
	t      *testing.T
	server *appserver.Server
	log    *buffer
	page   *page
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// page is a front end that takes every batch at once.
type page struct {
	cancel context.CancelFunc
	done   chan struct{}
	mu     sync.Mutex
	view   headless.View
}

// in runs a test in a bubble: synctest.Wait then means that everybody is idle.
func in(t *testing.T, test func(t *testing.T, b *bench), scripts ...appserver.Script) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, scripts...)
		b.must(b.do(uicontract.CmdConnect, &uicontract.Connect{}))
		synctest.Wait()
		test(t, b)
		synctest.Wait()
		b.page.look(func(v *headless.View) {
			for _, m := range v.Mismatch {
				t.Errorf("the page: %s", m)
			}
		})
	})
}

func newBench(t *testing.T, scripts ...appserver.Script) *bench {
	t.Helper()
	english, err := locale.Parse(shipped.English())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, server: appserver.Start(t, scripts...), log: &buffer{}}
	p := profile.Profile{Name: "local", LocalRoot: "/w", ServerRoot: "/w", Enabled: true}
	b.Worker = New(t.Context(), Options{Profiles: profile.Set{Profiles: []profile.Profile{p}, Selected: "local"}, Instance: "test", Relay: "test",
		Texts: locale.New(locale.English, english, english), Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Connector: func(context.Context, profile.Profile, *slog.Logger) (Link, error) {
			return Link{Conn: b.server.Pipe()}, nil
		}})
	b.page = b.attach("")
	t.Cleanup(func() {
		b.page.leave()
		b.Close()
	})
	return b
}

func (b *bench) attach(last string) *page {
	ctx, cancel := context.WithCancel(context.Background())
	p := &page{cancel: cancel, done: make(chan struct{})}
	stream := b.Attach(last)
	go func() {
		defer close(p.done)
		for {
			id, data, err := stream.Next(ctx)
			if err != nil {
				return
			}
			var batch uicontract.Batch
			if err := uicontract.Decode(data, &batch); err != nil {
				b.t.Errorf("batch %s: %v", id, err)
				return
			}
			p.mu.Lock()
			p.view.Apply(id, batch)
			p.mu.Unlock()
		}
	}()
	return p
}

func (p *page) leave() {
	p.cancel()
	<-p.done
}

func (p *page) look(f func(*headless.View)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.view)
}

// see waits until everybody is idle, then looks at the page. The timer of a batch needs the clock to move.
func (b *bench) see(f func(*headless.View)) {
	b.t.Helper()
	b.settle()
	b.page.look(f)
}

func (b *bench) settle() {
	synctest.Wait()
	b.mu.Lock()
	_ = b.events.seal(b.o.Now())
	b.mu.Unlock()
	synctest.Wait()
}

func (b *bench) do(kind uicontract.CommandKind, params any) uicontract.Result {
	return b.doAs(headless.Operation(), kind, params)
}

func (b *bench) doAs(op relay.OperationID, kind uicontract.CommandKind, params any) uicontract.Result {
	b.t.Helper()
	b.mu.Lock()
	var owner uint64
	if b.part != nil {
		owner = b.part.epoch
	}
	b.mu.Unlock()
	return b.doFor(owner, op, kind, params)
}

// doFor gives a command for the owner of an epoch.
func (b *bench) doFor(owner uint64, op relay.OperationID, kind uicontract.CommandKind, params any) uicontract.Result {
	b.t.Helper()
	data, err := uicontract.Encode(params)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.Execute(b.t.Context(), uicontract.Command{Version: uicontract.Version, Owner: owner, Operation: op, Kind: kind, Params: data}, params)
}

func (b *bench) must(r uicontract.Result) uicontract.Result {
	b.t.Helper()
	if r.Status != uicontract.Done {
		b.t.Fatalf("%s: %+v", r.Status, r.Problem)
	}
	return r
}

// refused requires that nothing was done, and why.
func (b *bench) refused(r uicontract.Result, code, variant string) {
	b.t.Helper()
	if r.Status != uicontract.Refused || r.Problem == nil || r.Problem.Code != code || r.Problem.Variant != variant {
		b.t.Errorf("got %s %+v, want refused by %s/%s", r.Status, r.Problem, code, variant)
	}
}

// sent requires how often the server got a method.
func (b *bench) sent(method string, n int) {
	b.t.Helper()
	synctest.Wait()
	if got := b.server.Sent(method); len(got) != n {
		b.t.Errorf("%s was sent %d times, want %d: %v", method, len(got), n, got)
	}
}

// start starts a thread whose script is already waiting.
func (b *bench) start() {
	b.t.Helper()
	b.must(b.do(uicontract.CmdThreadStart, &uicontract.ThreadStart{}))
}

func (b *bench) send(text string) uicontract.Result {
	b.t.Helper()
	return b.do(uicontract.CmdTurnSend, &uicontract.TurnSend{Thread: "t", Text: text})
}

// answers are the replies to server requests, as the server got them.
func (b *bench) answers() []string {
	synctest.Wait()
	var list []string
	for _, m := range b.server.Received() {
		if m.Kind == appserver.Result || m.Kind == appserver.Failure {
			list = append(list, strings.TrimSpace(string(m.Raw)))
		}
	}
	return list
}
