//go:build realcodex

package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sekisho/internal/relay/codex"
)

// Every message that a server was recorded to send is one that the validator lets a fake send.
//
// proves R-CON-03
func TestTranscriptsAreAllowedByTheContract(t *testing.T) {
	validators := map[string]*Validator{}
	for _, version := range []string{codex.Regression, codex.Target} {
		s, err := realCache(t).Ensure(t.Context(), install(t, version), version, codex.Experimental)
		if err != nil {
			t.Fatal(err)
		}
		validators[version] = NewValidator(s)
	}
	files, err := filepath.Glob("../codex/testdata/transcripts/*.jsonl")
	if err != nil || len(files) != 18 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	checked := map[Direction]int{}
	for _, file := range files {
		v := validators[codex.Target]
		if filepath.Base(file) == "09-0.155.1-smoke.jsonl" {
			v = validators[codex.Regression]
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		calls := map[string]string{}
		for line := range bytes.Lines(data) {
			var l struct {
				Dir string
				Msg json.RawMessage
			}
			var m struct {
				ID             json.RawMessage
				Method         string
				Params, Result json.RawMessage
			}
			if json.Unmarshal(line, &l) != nil || l.Dir == "event" || json.Unmarshal(l.Msg, &m) != nil {
				continue
			}
			var direction Direction
			switch {
			case l.Dir == "send" && m.Method != "" && m.ID != nil:
				calls[string(m.ID)] = m.Method
				continue
			case l.Dir == "send":
				continue
			case m.Method != "" && m.ID != nil:
				direction, err = ServerRequest, v.Params(ServerRequest, m.Method, m.Params)
			case m.Method != "":
				direction, err = Notification, v.Params(Notification, m.Method, m.Params)
			case m.Result != nil:
				direction, err = Call, v.Result(Call, calls[string(m.ID)], m.Result)
			default:
				continue
			}
			checked[direction]++
			if err != nil && calls[string(m.ID)] == "getAuthStatus" && errors.Is(err, ErrNoMethod) {
				continue // answered by the server, in no contract: not to be used
			}
			if err != nil {
				t.Errorf("%s: %v\n%.300s", filepath.Base(file), err, l.Msg)
			}
		}
	}
	if checked[ServerRequest] != 30 || checked[Notification] != 1335 || checked[Call] != 181 {
		t.Errorf("checked %v", checked)
	}
}
