package relayworld

import (
	"context"
	"errors"
	"os"
	"time"

	shipped "sekisho/config"
	"sekisho/internal/locale"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/web"
	"sekisho/internal/relay/worker"
	"sekisho/test/fakes/mcp"
)

// Token is what must never be seen outside the handshake with a remote server.
const Token = "canary-bearer-token-4f1c"

// ServeMCP is the first argument of a test's own program that makes it the fake MCP server; the second is the file of its calls.
const ServeMCP = "serve-mcp"

// Child does the work of this program where a worker started it as the supervisor of codex, as it starts the product, or codex
// as an MCP server. It reports whether it was either; main then returns.
func Child() bool {
	if transport.SuperviseChild() {
		return true
	}
	if len(os.Args) == 3 && os.Args[1] == ServeMCP {
		if err := mcp.Run(context.Background(), os.Args[2]); err != nil {
			os.Exit(1)
		}
		return true
	}
	return false
}

// Env is the environment of a codex: nothing of the person who runs the test.
func Env(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CODEX_HOME=" + home}
}

// Texts are the shipped texts of a language; English by default.
func Texts(language string) (*locale.Catalogue, error) {
	english, err := locale.Parse(shipped.English())
	if err != nil {
		return nil, err
	}
	if language == "" || language == locale.English {
		return locale.New(locale.English, english, english), nil
	}
	texts, _, err := locale.Load(shipped.Locales(), english, language)
	return texts, err
}

// Options of a relay. Connect and Profiles are required.
type Options struct {
	Profiles []profile.Profile // the first is selected
	Connect  Connect
	Language string
	Log      *Log
	Address  string           // of the endpoint; a free port of 127.0.0.1 by default
	Now      func() time.Time // the machine's clock by default
	Write    time.Duration    // how long a front end may take for a batch; the product's by default
}

// Relay is a worker with its endpoint, as the product joins them.
type Relay struct {
	Worker   *worker.Worker
	Endpoint *web.Server
}

// Open makes a relay that lives until ctx ends or it is closed.
func Open(ctx context.Context, o Options) (*Relay, error) {
	w, err := NewWorker(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	texts, err := Texts(o.Language)
	if err != nil {
		w.Close()
		return nil, err
	}
	endpoint, err := web.Listen(ctx, o.Address, web.Options{Backend: backend{w}, Texts: texts, Log: o.Log.logger(), Write: o.Write})
	if err != nil {
		w.Close()
		return nil, err
	}
	return &Relay{w, endpoint}, nil
}

// NewWorker makes the worker alone.
func NewWorker(ctx context.Context, o Options) (*worker.Worker, error) {
	texts, err := Texts(o.Language)
	if err != nil {
		return nil, err
	}
	if len(o.Profiles) == 0 {
		return nil, errors.New("a relay needs a profile")
	}
	return worker.New(ctx, worker.Options{Profiles: profile.Set{Profiles: o.Profiles, Selected: o.Profiles[0].Name}, Instance: "e2e", Relay: "0.1.0",
		Texts: texts, Log: o.Log.logger(), Connector: o.Connect, Now: o.Now}), nil
}

type backend struct{ *worker.Worker }

func (b backend) Attach(id string) web.Stream { return b.Worker.Attach(id) }

// Close ends both, as the end of the program does.
func (r *Relay) Close() error {
	r.Worker.Close()
	limited, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return r.Endpoint.Close(limited)
}
