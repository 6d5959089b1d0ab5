//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	"time"

	"sekisho/config"
	"sekisho/internal/locale"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/relay/web"
	"sekisho/internal/relay/worker"
	"sekisho/test/fakes/appserver"
	"sekisho/test/fakes/responses"
)

// options of a world.
type options struct {
	Scripts  []string `json:"scripts"`  // fake server: names of parts.go, one per connection; none: the real codex
	Remote   bool     `json:"remote"`   // real codex behind a WebSocket with a bearer token
	Config   string   `json:"config"`   // more of config.toml
	MCP      bool     `json:"mcp"`      // let codex start the fake MCP server
	Language string   `json:"language"` // of the worker's texts
	NoCodex  bool     `json:"noCodex"`  // there is no codex at all
	Offline  bool     `json:"offline"`  // do not connect at first
	Beside   int      `json:"beside"`   // this is another client of that remote world's server
	Second   bool     `json:"second"`   // another profile, "other", beside the one that is used at first
	// Clock fixes the time that events bear, in Unix milliseconds, for pictures.
	Clock int64  `json:"clock"`
	Codex string `json:"codex"` // path of the real CLI
	Turns int    `json:"turns"` // remote: a thread of so many real turns is there at first
}

// world is one server, one worker with its endpoint, and everything that crossed between them.
type world struct {
	o        options
	ctx      context.Context
	cancel   context.CancelFunc
	dir      string
	work     string
	calls    string
	provider *responses.Server
	server   *appserver.Server
	thread   string // the one that options.Turns made
	profile  profile.Profile
	process  *exec.Cmd
	tape     *tape
	log      *buffer

	mu       sync.Mutex
	worker   *worker.Worker
	endpoint *web.Server
	address  string // of the endpoint, also after it was closed
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

const token = "canary-bearer-token-4f1c"

// open makes a world. beside is nil, or the world whose server it uses and which has to be closed after it.
func open(ctx context.Context, o options, beside *world) (w *world, err error) {
	cache, err := os.UserCacheDir() // codex runs no command below /tmp
	if err != nil {
		return nil, err
	}
	w = &world{o: o, tape: &tape{}, log: &buffer{}}
	w.ctx, w.cancel = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.dir, err = os.MkdirTemp(cache, "e2e-relay-"); err != nil {
		return w, err
	}
	w.work, w.calls = filepath.Join(w.dir, "work"), filepath.Join(w.dir, "calls")
	for _, d := range []string{w.work, w.home()} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return w, err
		}
	}
	if beside != nil {
		w.profile, w.work = beside.profile, beside.work
	} else if err := w.prepare(); err != nil {
		return w, err
	}
	if err := w.start("127.0.0.1:0"); err != nil {
		return w, err
	}
	if !o.Offline {
		w.connect()
	}
	return w, nil
}

func (w *world) home() string { return filepath.Join(w.dir, "codex") }

func (w *world) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home(), "CODEX_HOME=" + w.home()}
}

// prepare makes the server, or what starts it.
func (w *world) prepare() error {
	w.profile = profile.Profile{Name: "local", LocalRoot: w.work, ServerRoot: w.work, Enabled: true, Codex: w.o.Codex}
	switch {
	case w.o.NoCodex:
		w.profile.Codex = filepath.Join(w.dir, "none", "codex")
		return nil
	case len(w.o.Scripts) > 0:
		var scripts []appserver.Script
		for _, name := range w.o.Scripts {
			make, ok := parts[name]
			if !ok {
				return fmt.Errorf("there is no script %q", name)
			}
			scripts = append(scripts, make())
		}
		w.server = appserver.New(scripts...)
		w.profile.LocalRoot, w.profile.ServerRoot, w.work = appserver.Dir, appserver.Dir, appserver.Dir
		return nil
	}
	var err error
	if w.provider, err = responses.Listen("127.0.0.1:0"); err != nil {
		return err
	}
	extra := "[features]\ndefault_mode_request_user_input = true\nrequest_permissions_tool = true\n" + w.o.Config
	if w.o.MCP {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		extra += fmt.Sprintf("\n[mcp_servers.fake]\ncommand = %q\nargs = [%q, %q]\n", self, serveMCP, w.calls)
	}
	if err := (responses.Config{BaseURL: w.provider.URL(), Trusted: []string{w.work}, Extra: extra}).Write(w.home()); err != nil {
		return err
	}
	if !w.o.Remote {
		return nil
	}
	file := filepath.Join(w.dir, "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		return err
	}
	w.profile = profile.Profile{Name: "remote", LocalRoot: w.work, ServerRoot: w.work, TokenFile: file, Enabled: true}
	if w.profile.Endpoint, err = w.listen(file); err != nil || w.o.Turns == 0 {
		return err
	}
	w.thread, err = w.makeThread(w.ctx, w.o.Turns)
	return err
}

// listen starts a real app-server on a WebSocket.
func (w *world) listen(file string) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := l.Addr().String()
	l.Close()
	w.process = exec.Command(w.o.Codex, "app-server", "--listen", "ws://"+address, "--ws-auth", "capability-token", "--ws-token-file", file)
	w.process.Dir, w.process.Env = w.work, w.env()
	w.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := w.process.Start(); err != nil {
		return "", err
	}
	limit := time.After(time.Minute)
	for {
		resp, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return "ws://" + address, nil
			}
		}
		select {
		case <-limit:
			return "", fmt.Errorf("the server is not ready: %w", err)
		case <-w.ctx.Done():
			return "", w.ctx.Err()
		case <-time.After(50 * time.Millisecond): // its readiness can only be polled
		}
	}
}

func (w *world) texts() (*locale.Catalogue, error) {
	english, err := locale.Parse(shipped.English())
	if err != nil {
		return nil, err
	}
	if w.o.Language == "ja" {
		texts, _, err := locale.Load(shipped.Locales(), english, "ja")
		return texts, err
	}
	return locale.New(locale.English, english, english), nil
}

// start makes a worker and its endpoint.
func (w *world) start(address string) error {
	texts, err := w.texts()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	real := worker.Connector{Env: w.env()}
	profiles := []profile.Profile{w.profile}
	if w.o.Second {
		other := w.profile
		other.Name = "other"
		profiles = append(profiles, other)
	}
	o := worker.Options{Profiles: profile.Set{Profiles: profiles, Selected: w.profile.Name}, Instance: "e2e", Relay: "0.1.0", Texts: texts, Log: log,
		Connector: func(ctx context.Context, p profile.Profile, log *slog.Logger) (worker.Link, error) {
			if w.server != nil {
				return worker.Link{Conn: taped{w.server.Pipe(), w.tape}}, nil
			}
			link, err := real.Connect(ctx, p, log)
			if err == nil {
				link.Conn = taped{link.Conn, w.tape}
			}
			return link, err
		}}
	if w.o.Clock != 0 {
		began, fixed := time.Now(), time.UnixMilli(w.o.Clock)
		o.Now = func() time.Time { return fixed.Add(time.Since(began)) }
	}
	made := worker.New(w.ctx, o)
	endpoint, err := web.Listen(w.ctx, address, web.Options{Backend: backend{made}, Texts: texts, Log: log})
	if err != nil {
		made.Close()
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.worker, w.endpoint, w.address = made, endpoint, endpoint.Addr().String()
	return nil
}

type backend struct{ *worker.Worker }

func (b backend) Attach(id string) web.Stream { return b.Worker.Attach(id) }

func (w *world) connect() {
	first := uicontract.Command{Version: uicontract.Version, Operation: "start", Kind: uicontract.CmdConnect}
	w.worker.Execute(w.ctx, first, &uicontract.Connect{Enable: w.o.Remote})
}

// stop ends worker and endpoint, as the end of the program does.
func (w *world) stop() error {
	w.mu.Lock()
	made, endpoint := w.worker, w.endpoint
	w.worker, w.endpoint = nil, nil
	w.mu.Unlock()
	if made == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	made.Close()
	return endpoint.Close(limited)
}

func (w *world) close() error {
	err := w.stop()
	if w.server != nil {
		err = errors.Join(err, w.server.Err())
	}
	w.cancel()
	if w.process != nil && w.process.Process != nil {
		syscall.Kill(-w.process.Process.Pid, syscall.SIGKILL)
		w.process.Wait()
	}
	if w.provider != nil {
		w.provider.Close()
	}
	if w.dir != "" {
		err = errors.Join(err, os.RemoveAll(w.dir))
	}
	return err
}

// do carries out one wish of a test.
func (w *world) do(what string, args json.RawMessage) (any, error) {
	var name string
	if len(args) > 0 {
		if err := json.Unmarshal(args, &name); err != nil {
			return nil, err
		}
	}
	switch what {
	case "address":
		return w.endpoint.Address(), nil
	case "restart": // on the same port, with the same server
		address := w.endpoint.Addr().String()
		if err := w.stop(); err != nil {
			return nil, err
		}
		if err := w.start(address); err != nil {
			return nil, err
		}
		w.connect()
		return w.endpoint.Address(), nil
	case "stop":
		return nil, w.stop()
	case "again": // another worker on the same port: the keys of the one before are refused
		return nil, w.start(w.address)
	case "wire":
		return w.tape.all(), nil
	case "log":
		return w.log.String(), nil
	case "release":
		if w.server != nil {
			w.server.Release(name)
		} else {
			w.provider.Release(name)
		}
		return nil, nil
	case "requests":
		if w.provider == nil {
			return []any{}, nil
		}
		var list []any
		for _, r := range w.provider.Requests() {
			list = append(list, map[string]any{"scenario": r.Scenario, "model": r.Model, "outputs": len(r.Outputs)})
		}
		return list, nil
	case "calls":
		data, err := os.ReadFile(w.calls)
		if errors.Is(err, os.ErrNotExist) {
			return []string{}, nil
		}
		return strings.Split(strings.TrimSpace(string(data)), "\n"), err
	case "terminal": // codex resume --remote of the made thread
		return w.resume(lastWord)
	case "version":
		return codex.Target, nil
	}
	return nil, fmt.Errorf("there is nothing called %q", what)
}
