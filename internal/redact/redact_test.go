package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// proves A-OLL-09
func TestSecretShowsItselfNowhere(t *testing.T) {
	s := New("canary-7f3a")
	holder := struct{ S Secret }{s}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s, "holder", holder)
	asJSON, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q %x", s, holder, s, s, s, s), string(asJSON), log.String()} {
		if strings.Contains(text, "canary") || strings.Contains(text, "63616e617279") {
			t.Errorf("revealed in %s", text)
		}
	}
	if s.Reveal() != "canary-7f3a" || s.Empty() || !New("").Empty() {
		t.Error("Reveal or Empty is wrong")
	}
}
