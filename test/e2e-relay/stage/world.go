//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/relay/worker"
	"sekisho/test/fakes/appserver"
	"sekisho/test/fakes/responses"
	"sekisho/test/relayworld"
)

// options of a world.
type options struct {
	Scripts  []string `json:"scripts"`  // fake server: names of parts.go, one per connection; none: the real codex
	Far      bool     `json:"far"`      // fake server: the profile is a remote one
	Remote   bool     `json:"remote"`   // real codex behind a WebSocket with a bearer token
	Config   string   `json:"config"`   // more of config.toml
	MCP      bool     `json:"mcp"`      // let codex start the fake MCP server
	Language string   `json:"language"` // of the worker's texts
	NoCodex  bool     `json:"noCodex"`  // there is no codex at all
	Offline  bool     `json:"offline"`  // do not connect at first
	Stuck    bool     `json:"stuck"`    // the first attempt to connect takes as long as it may
	Beside   int      `json:"beside"`   // this is another client of that remote world's server
	Second   bool     `json:"second"`   // another profile, "other", beside the one that is used at first
	Profile  string   `json:"profile"`  // name of a local one; "local" by default
	Off      bool     `json:"off"`      // with far: the profile is not enabled
	// Clock fixes the time that events bear, in Unix milliseconds, for pictures.
	Clock int64  `json:"clock"`
	Codex string `json:"codex"` // path of the real CLI
	Write int    `json:"write"` // milliseconds that a page may take for a batch; the product's by default
	Turns int    `json:"turns"` // remote: a thread of so many real turns is there at first
}

// remote reports whether the first connection enables its profile.
func (o options) remote() bool { return (o.Far || o.Remote) && !o.Off }

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
	remote   *relayworld.Remote
	tape     relayworld.Tape
	log      relayworld.Log
	busy     sync.WaitGroup // the attempt of options.Stuck

	mu      sync.Mutex
	relay   *relayworld.Relay
	address string // of its endpoint, also after it was closed
}

// open makes a world. beside is nil, or the world whose server it uses and which has to be closed after it.
func open(ctx context.Context, o options, beside *world) (w *world, err error) {
	cache, err := os.UserCacheDir() // codex runs no command below /tmp
	if err != nil {
		return nil, err
	}
	w = &world{o: o}
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
	switch {
	case o.Stuck:
		made := w.relay
		w.busy.Go(func() { connect(w.ctx, made, o.remote()) })
	case !o.Offline:
		connect(w.ctx, w.relay, o.remote())
	}
	return w, nil
}

func (w *world) home() string { return filepath.Join(w.dir, "codex") }

// prepare makes the server, or what starts it.
func (w *world) prepare() error {
	w.profile = profile.Profile{Name: cmp.Or(w.o.Profile, "local"), LocalRoot: w.work, ServerRoot: w.work, Enabled: true, Codex: w.o.Codex}
	switch {
	case w.o.NoCodex:
		w.profile.Codex = "/opt/codex/bin/codex" // it is in pictures, so it is the same everywhere
		if _, err := os.Stat(w.profile.Codex); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s must not be there", w.profile.Codex)
		}
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
		if w.o.Far {
			w.profile.Name, w.profile.Codex, w.profile.Endpoint, w.profile.TokenFile = "build", "", "wss://build.example:8443", filepath.Join(w.dir, "token")
			w.profile.Enabled = !w.o.Off
		}
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
		extra += fmt.Sprintf("\n[mcp_servers.fake]\ncommand = %q\nargs = [%q, %q]\n", self, relayworld.ServeMCP, w.calls)
	}
	if err := (responses.Config{BaseURL: w.provider.URL(), Trusted: []string{w.work}, Extra: extra}).Write(w.home()); err != nil {
		return err
	}
	if !w.o.Remote {
		return nil
	}
	file := filepath.Join(w.dir, "token")
	if err := relayworld.WriteToken(file); err != nil {
		return err
	}
	w.profile = profile.Profile{Name: "remote", LocalRoot: w.work, ServerRoot: w.work, TokenFile: file, Enabled: true}
	if w.remote, err = relayworld.Listen(w.ctx, w.o.Codex, w.work, w.home(), file); err != nil {
		return err
	}
	w.profile.Endpoint = w.remote.URL
	if w.o.Turns == 0 {
		return nil
	}
	w.thread, err = w.makeThread(w.ctx, w.o.Turns)
	return err
}

// start makes a worker and its endpoint.
func (w *world) start(address string) error {
	profiles := []profile.Profile{w.profile}
	if w.o.Second {
		other := w.profile
		other.Name = "other"
		profiles = append(profiles, other)
	}
	connect := worker.Connector{Env: relayworld.Env(w.home())}.Connect
	if w.o.Stuck {
		connect = func(ctx context.Context, _ profile.Profile, _ *slog.Logger) (worker.Link, error) {
			<-ctx.Done()
			return worker.Link{}, ctx.Err()
		}
	} else if w.server != nil {
		connect = func(context.Context, profile.Profile, *slog.Logger) (worker.Link, error) {
			return worker.Link{Conn: w.server.Pipe()}, nil
		}
	}
	o := relayworld.Options{Profiles: profiles, Connect: w.tape.Tap(connect), Language: w.o.Language, Log: &w.log, Address: address, Write: time.Duration(w.o.Write) * time.Millisecond}
	if w.o.Clock != 0 {
		began, fixed := time.Now(), time.UnixMilli(w.o.Clock)
		o.Now = func() time.Time { return fixed.Add(time.Since(began)) }
	}
	made, err := relayworld.Open(w.ctx, o)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.relay, w.address = made, made.Endpoint.Addr().String()
	return nil
}

func connect(ctx context.Context, relay *relayworld.Relay, enable bool) {
	first := uicontract.Command{Version: uicontract.Version, Operation: "start", Kind: uicontract.CmdConnect}
	relay.Worker.Execute(ctx, first, &uicontract.Connect{Enable: enable})
}

// stop ends worker and endpoint, as the end of the program does.
func (w *world) stop() error {
	w.mu.Lock()
	made := w.relay
	w.relay = nil
	w.mu.Unlock()
	if made == nil {
		return nil
	}
	return made.Close()
}

func (w *world) close() error {
	err := w.stop()
	if w.server != nil {
		err = errors.Join(err, w.server.Err())
	}
	w.cancel()
	w.busy.Wait()
	if w.remote != nil {
		w.remote.Close()
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
		return w.relay.Endpoint.Address(), nil
	case "restart": // on the same port, with the same server
		address := w.relay.Endpoint.Addr().String()
		if err := w.stop(); err != nil {
			return nil, err
		}
		if err := w.start(address); err != nil {
			return nil, err
		}
		connect(w.ctx, w.relay, w.o.remote())
		return w.relay.Endpoint.Address(), nil
	case "stop":
		return nil, w.stop()
	case "again": // another worker on the same port: the keys of the one before are refused
		return nil, w.start(w.address)
	case "wire":
		return w.tape.All(), nil
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
	case "thread": // the made one's id
		return w.thread, nil
	case "terminal": // codex resume --remote of the made thread
		return w.resume(lastWord)
	case "version":
		return codex.Target, nil
	}
	return nil, fmt.Errorf("there is nothing called %q", what)
}
