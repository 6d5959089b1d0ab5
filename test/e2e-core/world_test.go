//go:build realcodex

package e2ecore

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sekisho/config"
	"sekisho/internal/locale"
	"sekisho/internal/relay"
	"sekisho/internal/relay/ask"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/relay/web"
	"sekisho/internal/relay/worker"
	"sekisho/test/fakes/mcp"
	"sekisho/test/fakes/responses"
	"sekisho/test/headless"

	"sekisho/internal/relay/transport"
)

// TestMain lets this test binary be the supervisor of the codex that it starts, as the product binary is, and the MCP
// server that codex starts.
func TestMain(m *testing.M) {
	if transport.SuperviseChild() {
		return
	}
	if len(os.Args) == 3 && os.Args[1] == serveMCP {
		if err := mcp.Run(context.Background(), os.Args[2]); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// patience bounds every wait of a test: the real CLI on a busy machine of two cores.
const patience = 60 * time.Second

var binaries sync.Map // version → path

// binary is the pinned CLI, installed once and verified.
func binary(t *testing.T, version string) string {
	t.Helper()
	if path, ok := binaries.Load(version); ok {
		return path.(string)
	}
	out, err := exec.Command("../../scripts/codex", version).Output()
	if err != nil {
		t.Fatalf("scripts/codex %s: %v", version, err)
	}
	path := strings.TrimSpace(string(out))
	binaries.Store(version, path)
	return path
}

// world is one real server with its model provider, and one worker with a front end.
type world struct {
	t        *testing.T
	ctx      context.Context
	version  string
	provider *responses.Server
	home     string
	work     string
	profile  profile.Profile
	tape     *tape
	log      *logBuffer
	worker   *worker.Worker
	endpoint *web.Server
	client   *headless.Client
	watch    *headless.Watcher
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// options of a world.
type options struct {
	version string // default: the target
	remote  bool   // a WebSocket with a bearer token instead of a child
	config  string // more of config.toml
	model   string // default: one that the target version knows
}

// token is what must never be seen outside the handshake.
const token = "canary-bearer-token-4f1c"

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	if o.version == "" {
		o.version = codex.Target
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, version: o.version, provider: responses.Start(t), home: responses.TempHome(t), work: responses.TempHome(t), tape: &tape{}, log: &logBuffer{}}
	config := responses.Config{BaseURL: w.provider.URL(), Trusted: []string{w.work}, Extra: o.config, Model: o.model}
	if err := config.Write(w.home); err != nil {
		t.Fatal(err)
	}
	w.profile = profile.Profile{Name: "local", LocalRoot: w.work, ServerRoot: w.work, Enabled: true, Codex: binary(t, o.version)}
	if o.remote {
		w.profile = profile.Profile{Name: "remote", LocalRoot: w.work, ServerRoot: w.work, TokenFile: w.write("token", token+"\n")}
		w.profile.Endpoint = w.listen(w.profile.TokenFile)
	}
	w.start()
	w.must(w.do(uicontract.CmdConnect, uicontract.Connect{Enable: o.remote}, nil))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the wire:\n%s\nthe log:\n%s", w.tape.methods(), w.log.String())
		}
	})
	return w
}

func (w *world) write(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// env is a child's environment: nothing of the person who runs the test.
func (w *world) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "CODEX_HOME=" + w.home}
}

// start makes the worker, its endpoint and a front end.
func (w *world) start() {
	w.t.Helper()
	english, err := locale.Parse(shipped.English())
	if err != nil {
		w.t.Fatal(err)
	}
	texts := locale.New(locale.English, english, english)
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	real := worker.Connector{Env: w.env()}
	w.worker = worker.New(w.ctx, worker.Options{Profiles: profile.Set{Profiles: []profile.Profile{w.profile}, Selected: w.profile.Name}, Instance: "e2e", Relay: "test", Texts: texts, Log: log,
		Connector: func(ctx context.Context, p profile.Profile, log *slog.Logger) (worker.Link, error) {
			link, err := real.Connect(ctx, p, log)
			if err == nil {
				link.Conn = taped{link.Conn, w.tape}
			}
			return link, err
		}})
	w.t.Cleanup(w.worker.Close)
	w.endpoint, err = web.Listen(w.ctx, "127.0.0.1:0", web.Options{Backend: backend{w.worker}, Texts: texts, Log: log})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		limited, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := w.endpoint.Close(limited); err != nil {
			w.t.Error(err)
		}
	})
	w.client, w.watch = w.page()
}

type backend struct{ *worker.Worker }

func (b backend) Attach(id string) web.Stream { return b.Worker.Attach(id) }

// page is a fresh front end.
func (w *world) page() (*headless.Client, *headless.Watcher) {
	w.t.Helper()
	client, err := headless.Connect(w.ctx, w.endpoint.Address())
	if err != nil {
		w.t.Fatal(err)
	}
	watch, err := client.Watch(w.ctx, "")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { watch.Close(); client.Close() })
	return client, watch
}

// listen starts a real app-server on a WebSocket and returns its address.
func (w *world) listen(tokenFile string) string {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cmd := exec.Command(binary(w.t, w.version), "app-server", "--listen", "ws://"+address, "--ws-auth", "capability-token", "--ws-token-file", tokenFile)
	cmd.Dir, cmd.Env = w.work, w.env()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var output logBuffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	for deadline := time.Now().Add(patience); ; {
		resp, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return "ws://" + address
			}
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the server is not ready: %v\n%s", err, output.String())
		}
		select {
		case <-w.ctx.Done():
			w.t.Fatal(w.ctx.Err())
		case <-time.After(50 * time.Millisecond): // its readiness can only be polled
		}
	}
}

func (w *world) do(kind uicontract.CommandKind, params, value any) uicontract.Result {
	w.t.Helper()
	r, err := w.client.Do(w.ctx, kind, params, value)
	if err != nil {
		w.t.Fatalf("%s: %v", kind, err)
	}
	return r
}

func (w *world) must(r uicontract.Result) {
	w.t.Helper()
	if r.Status != uicontract.Done {
		w.t.Fatalf("%s: %+v", r.Status, r.Problem)
	}
}

// wait waits until the page shows what cond says.
func (w *world) wait(what string, cond func(*headless.View) bool) {
	w.t.Helper()
	w.waitOn(w.watch, what, cond)
}

func (w *world) waitOn(watch *headless.Watcher, what string, cond func(*headless.View) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	if err := watch.Wait(ctx, what, cond); err != nil {
		watch.Look(func(v *headless.View) {
			w.t.Logf("connection %+v; open %d; cards %+v; outcomes %+v; notices %+v; events %v", v.Connection, len(v.Snapshot.Open), v.Cards, v.Outcomes, v.Notices, v.Log[max(0, len(v.Log)-30):])
		})
		w.t.Fatal(err)
	}
}

// thread starts a thread.
func (w *world) thread() relay.ThreadID {
	w.t.Helper()
	var ref uicontract.ThreadRef
	w.must(w.do(uicontract.CmdThreadStart, uicontract.ThreadStart{}, &ref))
	return ref.Thread
}

// send sends a message and returns its turn.
func (w *world) send(id relay.ThreadID, text string) relay.TurnID {
	w.t.Helper()
	var sent uicontract.TurnSent
	w.must(w.do(uicontract.CmdTurnSend, uicontract.TurnSend{Thread: id, Text: text}, &sent))
	return sent.Turn
}

// ended waits for the end of a turn.
func (w *world) ended(id relay.ThreadID, turn relay.TurnID, status string) {
	w.t.Helper()
	w.wait(fmt.Sprintf("turn %s %s", turn, status), func(v *headless.View) bool {
		t := v.Open(id)
		return t != nil && t.Head.Turn == turn && t.Head.TurnStatus == status
	})
}

// card waits for the one pending card of a thread.
func (w *world) card(id relay.ThreadID) uicontract.Card {
	w.t.Helper()
	var card uicontract.Card
	w.wait("a card", func(v *headless.View) bool {
		cards := v.Pending(id)
		if len(cards) > 0 {
			card = cards[0]
		}
		return len(cards) == 1
	})
	return card
}

// fit requires that nothing was shown that does not fit together, and that no secret was seen.
func (w *world) fit() {
	w.t.Helper()
	w.watch.Look(func(v *headless.View) {
		for _, m := range v.Mismatch {
			w.t.Errorf("the page: %s", m)
		}
		shown, err := uicontract.Encode(v.Snapshot)
		if err != nil || strings.Contains(string(shown), token) {
			w.t.Errorf("the bearer token was shown (%v)", err)
		}
	})
	if strings.Contains(w.log.String(), token) || strings.Contains(w.tape.methods(), token) {
		w.t.Error("the bearer token was seen")
	}
}

const serveMCP = "serve-mcp"

// choose answers a card with the choice of a kind.
func (w *world) choose(card uicontract.Card, kind string) uicontract.Result {
	w.t.Helper()
	for _, c := range card.Choices {
		if c.Kind == kind {
			return w.do(uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Choice: c.ID, SeenEnd: card.Long}, nil)
		}
	}
	w.t.Fatalf("the card offers no %s: %+v", kind, card.Choices)
	return uicontract.Result{}
}

// kinds are what a card offers.
func kinds(card uicontract.Card) string {
	var list []string
	for _, c := range card.Choices {
		list = append(list, c.Kind)
	}
	return strings.Join(list, " ")
}

// state waits until a card is in a state.
func (w *world) state(card uicontract.Card, state ask.State) {
	w.t.Helper()
	w.wait("card "+string(state), func(v *headless.View) bool {
		c := v.Card(card.ID)
		return c != nil && c.State == uicontract.CardState(state)
	})
}
