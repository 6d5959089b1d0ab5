package codex

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// recorded is one line of a transcript; payload is the message without what the transport adds.
type recorded struct {
	file, dir string
	id        string
	method    string
	params    json.RawMessage
	result    json.RawMessage
	err       *RPCError
}

func transcripts(t testing.TB) []recorded {
	t.Helper()
	files, err := filepath.Glob("testdata/transcripts/*.jsonl")
	if err != nil || len(files) != 18 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	var all []recorded
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var l struct {
				Dir string
				Msg json.RawMessage
			}
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			var m struct {
				ID             json.RawMessage
				Method         string
				Params, Result json.RawMessage
				Error          *RPCError
			}
			if l.Dir == "event" || json.Unmarshal(l.Msg, &m) != nil {
				continue
			}
			all = append(all, recorded{filepath.Base(file), l.Dir, string(m.ID), m.Method, m.Params, m.Result, m.Error})
		}
	}
	return all
}

// proves R-CON-03, R-CON-05
func TestTranscriptsDecode(t *testing.T) {
	type count struct{ requests, notifications, results, errors, others int }
	var got count
	calls := map[string]string{}
	for _, r := range transcripts(t) {
		switch {
		case r.dir == "send" && r.method != "" && r.id != "":
			calls[r.file+r.id] = r.method
		case r.dir != "recv":
		case r.method != "" && r.id != "":
			got.requests++
			v, err := DecodeServerRequest(r.method, r.params)
			if err != nil {
				t.Errorf("%s: %s: %v", r.file, r.method, err)
				continue
			}
			if u, ok := v.(*UserInputRequest); ok && u.Secret {
				continue // what is withheld cannot be encoded again
			}
			roundTrip(t, v, r.params)
		case r.method != "":
			got.notifications++
			v, err := DecodeNotification(r.method, r.params)
			if err != nil {
				t.Errorf("%s: %s: %v", r.file, r.method, err)
				continue
			}
			if v.Method() != r.method {
				t.Errorf("%s decodes as %s", r.method, v.Method())
			}
			if o, ok := v.(*Other); ok {
				got.others++
				if !o.Known {
					t.Errorf("%s is in the contract but not known", r.method)
				}
				continue
			}
			roundTrip(t, v, r.params)
		case r.result != nil:
			got.results++
			m, ok := Lookup(calls[r.file+r.id])
			if !ok {
				continue
			}
			v := reflect.New(m.Result).Interface()
			if err := DecodeResult(r.result, v); err != nil {
				t.Errorf("%s: result of %s: %v", r.file, m.Name, err)
				continue
			}
			roundTrip(t, v, r.result)
		case r.err != nil:
			got.errors++
		}
	}
	if want := (count{30, 1335, 181, 34, 15}); got != want {
		t.Errorf("decoded %+v, want %+v", got, want)
	}
}

// roundTrip encodes v and reports a member that the original has not, or has with another value.
func roundTrip(t *testing.T, v any, original []byte) {
	t.Helper()
	encoded, err := Encode(v)
	if err != nil {
		t.Errorf("%T: %v", v, err)
		return
	}
	var got, want any
	if json.Unmarshal(encoded, &got) != nil || json.Unmarshal(original, &want) != nil {
		t.Fatalf("%T: no JSON", v)
	}
	if at := differs(got, want); at != "" {
		t.Errorf("%T%s: encoded %s\nfrom %s", v, at, encoded, original)
	}
}

func differs(got, want any) string {
	switch g := got.(type) {
	case map[string]any:
		w, ok := want.(map[string]any)
		if !ok {
			return " is an object"
		}
		for name, value := range g {
			if w[name] == nil && (value == nil || reflect.ValueOf(value).IsZero()) {
				continue
			}
			if at := differs(value, w[name]); at != "" {
				return "." + name + at
			}
		}
	case []any:
		w, _ := want.([]any)
		if len(g) != len(w) {
			return " has another length"
		}
		for i := range g {
			if at := differs(g[i], w[i]); at != "" {
				return "[]" + at
			}
		}
	default:
		if !reflect.DeepEqual(got, want) {
			return " has another value"
		}
	}
	return ""
}
