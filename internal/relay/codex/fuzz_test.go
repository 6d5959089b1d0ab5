package codex

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// decodeAny decodes a payload in every role that its name can have and checks what must hold whatever it says.
func decodeAny(t testing.TB, method string, data []byte) {
	t.Helper()
	r, err := DecodeServerRequest(method, data)
	if (r == nil) == (err == nil) {
		t.Fatalf("%s: request %v with error %v", method, r, err)
	}
	if err != nil && !errors.Is(err, ErrBadParams) && !errors.Is(err, ErrUnknownMethod) && !errors.Is(err, ErrRefused) {
		t.Fatalf("%s: an error without a disposition: %v", method, err)
	}
	if r != nil && r.Method() != method {
		t.Fatalf("%s became %s", method, r.Method())
	}
	n, err := DecodeNotification(method, data)
	if (n == nil) == (err == nil) || err != nil && !errors.Is(err, ErrBadParams) {
		t.Fatalf("%s: notification %v with error %v", method, n, err)
	}
	if n != nil && n.Method() != method {
		t.Fatalf("%s became %s", method, n.Method())
	}
	if m, ok := Lookup(method); ok {
		if err := DecodeResult(data, reflect.New(m.Result).Interface()); err != nil && !errors.Is(err, ErrBadParams) {
			t.Fatalf("%s: result: %v", method, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	seen := map[string]int{}
	calls := map[string]string{}
	for _, r := range transcripts(f) {
		payload := r.params
		if r.dir == "send" {
			calls[r.file+r.id] = r.method
			continue
		}
		if r.method == "" {
			r.method, payload = calls[r.file+r.id], r.result
		}
		if seen[r.method]++; payload != nil && seen[r.method] <= 3 {
			f.Add(r.method, []byte(payload))
		}
	}
	for method, payload := range examples {
		f.Add(method, []byte(payload))
	}
	f.Fuzz(func(t *testing.T, method string, data []byte) { decodeAny(t, method, data) })
}

// Mutations of recorded messages that are still JSON: members removed, set to null, of another type, duplicated deep.
//
// proves R-CON-05
func TestMutatedMessagesNeverPanic(t *testing.T) {
	var all []recorded
	for _, r := range transcripts(t) {
		if r.dir == "recv" && r.method != "" {
			all = append(all, r)
		}
	}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(all).Draw(t, "message")
		var tree any
		if err := json.Unmarshal(r.params, &tree); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")))
		for range rng.IntN(3) {
			tree = mutate(rng, tree)
		}
		data, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := DecodeServerRequest(r.method, data); err != nil && !errors.Is(err, ErrBadParams) && !errors.Is(err, ErrUnknownMethod) || v != nil && v.Scope().Thread == "" && !hasEmptyThread(data) {
			t.Fatalf("%s: %v, %v", r.method, v, err)
		}
		n, err := DecodeNotification(r.method, data)
		if err != nil && !errors.Is(err, ErrBadParams) {
			t.Fatalf("%s: %v", r.method, err)
		}
		if err == nil && n.Method() == r.method {
			accepted++
		}
	})
	if accepted == 0 {
		t.Error("no mutated message was accepted: the mutations say nothing")
	}
}

func hasEmptyThread(data []byte) bool {
	var v struct{ ThreadID *string }
	return json.Unmarshal(data, &v) == nil && v.ThreadID != nil && *v.ThreadID == ""
}

func mutate(rng *rand.Rand, v any) any {
	others := []any{nil, true, 0.0, -1.5, 1e300, "", "x", []any{}, map[string]any{}, []any{nil}, map[string]any{"type": "new"}}
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 && rng.IntN(4) > 0 {
			name := slices.Sorted(maps.Keys(v))[rng.IntN(len(v))]
			switch rng.IntN(4) {
			case 0:
				delete(v, name)
			case 1:
				v[name] = others[rng.IntN(len(others))]
			case 2:
				v[name+"x"] = v[name]
			default:
				v[name] = mutate(rng, v[name])
			}
			return v
		}
	case []any:
		if len(v) > 0 && rng.IntN(4) > 0 {
			i := rng.IntN(len(v))
			v[i] = mutate(rng, v[i])
			return append(v, v[i])
		}
	}
	return others[rng.IntN(len(others))]
}
