package reports

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/relay/worker"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

const scriptVar = "REPORTS_SCRIPT"

// actAsServer lets the test program be the app-server that a supervisor starts.
func actAsServer() bool {
	if len(os.Args) < 2 || os.Args[1] != "app-server" {
		return false
	}
	var script appserver.Script
	data, err := os.ReadFile(os.Getenv(scriptVar))
	if err == nil {
		err = json.Unmarshal(data, &script)
	}
	if err != nil {
		os.Exit(70)
	}
	os.Exit(appserver.New(script).Stdio(os.Stdin, os.Stdout))
	return true
}

// child is a connector to a supervised process that plays a script.
func child(t *testing.T, script appserver.Script) func(context.Context, profile.Profile, *slog.Logger) (worker.Link, error) {
	t.Helper()
	data, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "script")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, _ profile.Profile, log *slog.Logger) (worker.Link, error) {
		conn, child, err := transport.StartChild(ctx, transport.ChildOptions{Program: self, Args: []string{"app-server"}, Dir: dir, Env: append(os.Environ(), scriptVar+"="+path, "GORACE=atexit_sleep_ms=0"), Log: log})
		return worker.Link{Conn: conn, Child: child}, err
	}
}

// A connection that broke, one that the server closed, and a process that ended are three things, and are called so. Of
// a remote server's process nothing is claimed.
//
// report 27
// proves R-CONN-06, R-REC-01
func TestReport27ThreeKindsOfEnd(t *testing.T) {
	told := map[string]bool{}
	for name, c := range map[string]struct {
		end     appserver.Step
		remote  bool
		variant string
	}{
		"broken":  {appserver.Drop(), true, ""},
		"closed":  {appserver.Close(1001), true, "closed_by_server"},
		"process": {appserver.Exit(3), false, "child_exited"},
	} {
		t.Run(name, func(t *testing.T) {
			script := appserver.Scripts(ready(), appserver.StartThread("t"), appserver.Script{c.end})
			server := appserver.Start(t, script)
			var s setup
			if c.remote {
				s.over(t, server, "")
			} else {
				s.connector = child(t, script)
			}
			d := startOn(t, server, s)
			d.Thread()
			d.Wait("the end", func(v *headless.View) bool { return v.Connection.State == uicontract.AwaitManual })
			if !c.remote {
				d.Wait("the end of the process", func(v *headless.View) bool { return v.Connection.Process != nil && !v.Connection.Process.Running })
			}
			d.look(func(v *headless.View) {
				p := v.Connection.Problem
				if p == nil || p.Code != "connection.lost" || p.Variant != c.variant || told[p.Text] {
					t.Errorf("told as %+v", p)
				}
				told[p.Text] = true
				if c.remote != (v.Connection.Process == nil) {
					t.Errorf("process %+v", v.Connection.Process)
				}
			})
		})
	}
}
