package ask

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/ledger"
	"sekisho/internal/relay/rpc"
)

// wire counts what leaves. Like rpc.Client it lets one reply per key leave, so a test that wants to see the registry's own
// guarantee counts attempts.
type wire struct {
	mu       sync.Mutex
	frames   []string
	attempts map[relay.Key]int
	outcome  func() (ledger.State, error) // nil: sent
}

func newWire() *wire { return &wire{attempts: map[relay.Key]int{}} }

func (w *wire) Reply(_ context.Context, key relay.Key, result any) (ledger.State, error) {
	data, err := codex.Encode(result)
	if err != nil {
		return ledger.NotSent, err
	}
	return w.send(key, string(data))
}

func (w *wire) ReplyError(_ context.Context, key relay.Key, e codex.RPCError) (ledger.State, error) {
	return w.send(key, fmt.Sprintf("error %d", e.Code))
}

func (w *wire) send(key relay.Key, frame string) (ledger.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts[key]++
	if w.outcome != nil {
		if s, err := w.outcome(); s != ledger.Sent {
			return s, err
		}
	}
	w.frames = append(w.frames, frame)
	return ledger.Sent, nil
}

var (
	me    = relay.Owner{Profile: "p", Account: "a"}
	other = relay.Owner{Profile: "p", Account: "b"}
	from  = Origin{Owner: me, Profile: "p", Host: "local"}
)

func key(n int64) relay.Key { return relay.Key{Generation: 1, Request: relay.IntID(n)} }

// request decodes a request as rpc does.
func request(t testing.TB, method, params string) rpc.Request {
	t.Helper()
	body, err := codex.DecodeServerRequest(method, []byte(params))
	if err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	req := rpc.Request{Key: key(0), Body: body}
	w, err := codex.Decode[struct {
		P codex.Raw `json:"permissions,omitzero"`
		A codex.Raw `json:"additionalPermissions,omitzero"`
	}]([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	if req.Asked = w.P; req.Asked == nil {
		req.Asked = w.A
	}
	return req
}

const scope = `"threadId":"t","turnId":"u","itemId":"i","startedAtMs":1`

func add(t testing.TB, r *Registry, w Wire, req rpc.Request) Card {
	t.Helper()
	c, ok := r.Add(context.Background(), w, from, req, Facts{})
	if !ok {
		t.Fatal("not added")
	}
	return c
}

func code(err error) string {
	f := fault.As(err)
	if f == nil {
		return fmt.Sprint(err)
	}
	if f.Variant == "" {
		return string(f.Code)
	}
	return string(f.Code) + "." + f.Variant
}
