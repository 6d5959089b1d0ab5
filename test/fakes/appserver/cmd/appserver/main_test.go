package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/relay/transport"
	"sekisho/test/fakes/appserver"
)

// TestMain lets the test program be the supervisor and the fake itself.
func TestMain(m *testing.M) {
	if transport.SuperviseChild() {
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "app-server" {
		main()
	}
	os.Exit(m.Run())
}

func TestSupervisedStarts(t *testing.T) {
	dir := t.TempDir()
	scripts, err := json.Marshal([]appserver.Script{
		{appserver.Expect("ping", nil), appserver.Reply("ping", appserver.Object{"n": 1}), appserver.Exit(7)},
		{appserver.Expect("ping", nil), appserver.Reply("ping", appserver.Object{"n": 2})},
		{appserver.Notify("turn/started", appserver.Object{})},
	})
	if err != nil {
		t.Fatal(err)
	}
	script, recorded := filepath.Join(dir, "script"), filepath.Join(dir, "record")
	if err := os.WriteFile(script, scripts, 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		reply, status string
	}{{`{"id":1,"result":{"n":1}}`, "status 7"}, {`{"id":1,"result":{"n":2}}`, ""}, {"", "status 70"}} {
		conn, child, err := transport.StartChild(t.Context(), transport.ChildOptions{Program: program, Args: []string{"app-server"}, Dir: dir, Grace: 5 * time.Second,
			Env: append(os.Environ(), "FAKE_APPSERVER_SCRIPT="+script, "FAKE_APPSERVER_RECORD="+recorded)})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(transport.ByUser)
		if want.reply != "" {
			if _, err := conn.Write(t.Context(), []byte(`{"id":1,"method":"ping","params":{}}`)); err != nil {
				t.Fatal(err)
			}
			if got, err := conn.Read(t.Context()); err != nil || string(got) != want.reply {
				t.Errorf("start %d: %s, %v", i+1, got, err)
			}
		}
		if want.status != "" {
			if _, err := conn.Read(t.Context()); fault.As(err) == nil || fault.As(err).Args["status"] != want.status {
				t.Errorf("start %d ended with %v", i+1, err)
			}
		}
		conn.Close(transport.ByUser)
		exit, ok := child.Exit()
		if !ok || want.status == "" && exit.Code != 0 {
			t.Errorf("start %d: %v", i+1, exit)
		}
		if want.status == "status 70" && !strings.Contains(exit.Stderr, "not what the real server could send") {
			t.Errorf("start %d says %q", i+1, exit.Stderr)
		}
	}
	data, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(data), `{"start":`) != 3 || strings.Count(string(data), `{"message":{"id":1,"method":"ping","params":{}}}`) != 2 {
		t.Errorf("recorded:\n%s", data)
	}
}
