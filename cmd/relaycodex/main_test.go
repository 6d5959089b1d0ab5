package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sekisho/internal/relay/uicontract"
	"sekisho/test/cliscript"
	"sekisho/test/headless"
	"sekisho/test/product"
)

var bin product.Bin

func TestMain(m *testing.M) { bin.Main(m) }

// Each script is a session of a person with the product binary, with a home of its own and no codex in PATH.
//
// proves R-CLI-01, R-LOG-01
func TestScripts(t *testing.T) {
	program, err := bin.Build("cmd/relaycodex")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+"/usr/bin:/bin")
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": cliscript.Exits, "chmod-file": chmod, "ready": ready, "admitted": admitted, "absent-from": absentFrom},
	})
}

// chmod-file OCTAL PATH
func chmod(ts *testscript.TestScript, _ bool, args []string) {
	mode, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	ts.Check(os.Chmod(ts.MkAbs(args[1]), os.FileMode(mode)))
}

// ready N waits until N instances answer.
func ready(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	deadline := time.Now().Add(20 * time.Second)
	for {
		sockets, err := filepath.Glob(ts.MkAbs("state/relaycodex/instances/*/control.sock"))
		ts.Check(err)
		if len(sockets) == want {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%d instances are running, want %d", len(sockets), want)
		}
		<-time.After(20 * time.Millisecond) // another process's readiness can only be polled
	}
}

// admitted FILE exchanges the key of the address in FILE and requires a snapshot.
func admitted(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client, err := headless.Connect(ctx, strings.TrimSpace(ts.ReadFile(args[0])))
	if neg {
		if err == nil {
			ts.Fatalf("the address works")
		}
		return
	}
	ts.Check(err)
	defer client.Close()
	watch, err := client.Watch(ctx, "")
	ts.Check(err)
	defer watch.Close()
	ts.Check(watch.Wait(ctx, "a snapshot without a server", func(v *headless.View) bool {
		return v.Connection.State == uicontract.AwaitManual && v.Connection.Problem != nil && v.Connection.Problem.Code == "codex.not_found"
	}))
	watch.Look(func(v *headless.View) {
		ids, err := filepath.Glob(ts.MkAbs("state/relaycodex/instances/" + v.Instance + "/page.json"))
		ts.Check(err)
		if len(ids) != 1 {
			ts.Fatalf("no page.json of %s", v.Instance)
		}
		data, err := os.ReadFile(ids[0])
		ts.Check(err)
		var page struct{ Port int }
		ts.Check(json.Unmarshal(data, &page))
		if !strings.Contains(ts.ReadFile(args[0]), ":"+strconv.Itoa(page.Port)+"/") {
			ts.Fatalf("page.json says port %d", page.Port)
		}
	})
}

// absent-from FILE ADDRESSFILE... requires that no key of the addresses is in FILE.
func absentFrom(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	for _, name := range args[1:] {
		_, key, _ := strings.Cut(strings.TrimSpace(ts.ReadFile(name)), "#")
		if len(key) != 43 || strings.Contains(text, key) {
			ts.Fatalf("the key of %s (%d characters) is in %s", name, len(key), args[0])
		}
	}
}
