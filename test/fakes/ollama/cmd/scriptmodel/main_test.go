package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	scriptmodel "sekisho/test/fakes/ollama"
)

// start runs o until stop is called, which returns what run returned.
func start(t *testing.T, o options, args ...string) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	o.out = w
	done := make(chan error, 1)
	go func() { done <- o.run(ctx, args); w.Close() }()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		cancel()
		t.Fatalf("no address: %v, %v", err, <-done)
	}
	return strings.TrimSpace(line), func() error { cancel(); return <-done }
}

const body = `{"model":"demo","messages":[{"role":"user","content":"x"}],"stream":false,"truncate":false,"shift":false,"think":false}`

func chat(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/chat", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestServeAndRecord(t *testing.T) {
	dir := t.TempDir()
	script, recording := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "r.json")
	if err := os.WriteFile(script, []byte("model: demo\nrules: [{once: true, reply: {content: hi}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	model, stopModel := start(t, options{}, script)
	if !strings.HasPrefix(model, "http://127.0.0.1:") {
		t.Errorf("address %s", model)
	}
	proxy, stopProxy := start(t, options{record: recording, upstream: model, keep: true})
	if status := chat(t, proxy); status != http.StatusOK {
		t.Errorf("first call: %d", status)
	}
	if err := stopProxy(); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scriptmodel.Parse(data); err != nil || !bytes.Contains(data, []byte(`"request":{"model":"demo"`)) {
		t.Errorf("recording: %v, %s", err, data)
	}
	if status := chat(t, model); status != 599 {
		t.Errorf("exhausted: %d", status)
	}
	if err := stopModel(); err == nil || !strings.Contains(err.Error(), "no rule matches") {
		t.Errorf("the unmatched request is not reported: %v", err)
	}
	if err := (options{out: io.Discard}).run(t.Context(), nil); err == nil {
		t.Error("neither script nor -record was accepted")
	}
}
