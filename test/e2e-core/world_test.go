//go:build realcodex

package e2ecore

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/relay/worker"
	"sekisho/test/fakes/responses"
	"sekisho/test/headless"
	"sekisho/test/relayworld"
)

func TestMain(m *testing.M) {
	if relayworld.Child() {
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

// world is one real server with its model provider, and one relay with a front end.
type world struct {
	relayworld.Front
	t        *testing.T
	version  string
	provider *responses.Server
	home     string
	work     string
	profile  profile.Profile
	tape     *relayworld.Tape
	log      *relayworld.Log
	relay    *relayworld.Relay
}

// options of a world.
type options struct {
	version string // default: the target
	remote  bool   // a WebSocket with a bearer token instead of a child
	config  string // more of config.toml
	model   string // default: one that the target version knows
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	if o.version == "" {
		o.version = codex.Target
	}
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute) // five hundred turns
	t.Cleanup(cancel)
	w := &world{Front: relayworld.Front{T: t, Ctx: ctx, Patience: patience}, t: t, version: o.version, provider: responses.Start(t),
		home: responses.TempHome(t), work: responses.TempHome(t), tape: &relayworld.Tape{}, log: &relayworld.Log{}}
	config := responses.Config{BaseURL: w.provider.URL(), Trusted: []string{w.work}, Extra: o.config, Model: o.model}
	if err := config.Write(w.home); err != nil {
		t.Fatal(err)
	}
	w.profile = profile.Profile{Name: "local", LocalRoot: w.work, ServerRoot: w.work, Enabled: true, Codex: binary(t, o.version)}
	if o.remote {
		w.profile = profile.Profile{Name: "remote", LocalRoot: w.work, ServerRoot: w.work, TokenFile: filepath.Join(t.TempDir(), "token")}
		if err := relayworld.WriteToken(w.profile.TokenFile); err != nil {
			t.Fatal(err)
		}
		server, err := relayworld.Listen(ctx, binary(t, w.version), w.work, w.home, w.profile.TokenFile)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		w.profile.Endpoint = server.URL
	}
	w.start()
	w.Must(w.Do(uicontract.CmdConnect, uicontract.Connect{Enable: o.remote}, nil))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the wire:\n%s\nthe log:\n%s", w.tape, w.log)
		}
	})
	return w
}

// start makes the relay and a front end.
func (w *world) start() {
	w.t.Helper()
	real := worker.Connector{Env: relayworld.Env(w.home)}
	made, err := relayworld.Open(w.Ctx, relayworld.Options{Profiles: []profile.Profile{w.profile}, Connect: w.tape.Tap(real.Connect), Log: w.log})
	if err != nil {
		w.t.Fatal(err)
	}
	w.relay = made
	w.t.Cleanup(func() {
		if err := made.Close(); err != nil {
			w.t.Error(err)
		}
	})
	w.Join(made.Endpoint.Address(), "")
}

// page is another page of the same person.
func (w *world) page() (*headless.Client, *headless.Watcher) {
	w.t.Helper()
	return w.Page(w.relay.Endpoint.Address(), "")
}

// fit requires that nothing was shown that does not fit together, and that no secret was seen.
func (w *world) fit() {
	w.t.Helper()
	w.Watch.Look(func(v *headless.View) {
		for _, m := range v.Mismatch {
			w.t.Errorf("the page: %s", m)
		}
		shown, err := uicontract.Encode(v.Snapshot)
		if err != nil || strings.Contains(string(shown), relayworld.Token) {
			w.t.Errorf("the bearer token was shown (%v)", err)
		}
	})
	if strings.Contains(w.log.String(), relayworld.Token) || strings.Contains(w.tape.String(), relayworld.Token) {
		w.t.Error("the bearer token was seen")
	}
}
