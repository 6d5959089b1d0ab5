//go:build linux && realcodex

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/internal/relay/uicontract"
	"sekisho/test/headless"
	"sekisho/test/product"
)

// A person without an account runs it, opens the printed address, says hello, is asked once, and interrupts: the command ran
// as approved, and afterwards no process and no directory is left.
//
// proves R-CLI-01, R-CONN-10
func TestNewcomer(t *testing.T) {
	var bin product.Bin
	t.Cleanup(func() { bin.Close() })
	program, err := bin.Build("test/newcomer")
	if err != nil {
		t.Fatal(err)
	}
	relay, err := bin.Build("cmd/relaycodex")
	if err != nil {
		t.Fatal(err)
	}
	codex, err := exec.Command("../../scripts/codex", "0.159.1").Output()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	home, state := cacheDir(t), t.TempDir()
	cmd := exec.CommandContext(ctx, program, "-relay", relay, "-codex", strings.TrimSpace(string(codex)), "-no-open")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+home, "XDG_STATE_HOME="+state, "OPENAI_API_KEY=canary-key")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	client, err := headless.Connect(ctx, strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	watch, err := client.Watch(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	wait := func(what string, cond func(*headless.View) bool) {
		t.Helper()
		if err := watch.Wait(ctx, what, cond); err != nil {
			t.Fatalf("%v\n%s", err, said.String())
		}
	}
	var pid int
	wait("the connection", func(v *headless.View) bool {
		if p := v.Connection.Process; p != nil {
			pid = p.PID
		}
		return v.Connection.State == uicontract.Connected && pid > 0
	})
	environment, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil || bytes.Contains(environment, []byte("canary-key")) {
		t.Errorf("the person's key reached the codex of the try (%v)", err)
	}
	var ref uicontract.ThreadRef
	if r, err := client.Do(ctx, uicontract.CmdThreadStart, uicontract.ThreadStart{}, &ref); err != nil || r.Status != uicontract.Done {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err := client.Do(ctx, uicontract.CmdTurnSend, uicontract.TurnSend{Thread: ref.Thread, Text: "hello"}, nil); err != nil || r.Status != uicontract.Done {
		t.Fatalf("%+v, %v", r, err)
	}
	var card uicontract.Card
	wait("a card", func(v *headless.View) bool {
		if cards := v.Pending(ref.Thread); len(cards) == 1 {
			card = cards[0]
		}
		return card.ID != ""
	})
	written := filepath.Join(card.Command.Cwd.Lines[0], "hello.txt")
	if _, err := os.Stat(written); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the answer: %v", err)
	}
	for _, c := range card.Choices {
		if c.Kind == "accept" {
			if r, err := client.Do(ctx, uicontract.CmdCardAnswer, uicontract.Answer{Card: card.ID, Choice: c.ID}, nil); err != nil || r.Status != uicontract.Done {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	}
	wait("the end of the turn", func(v *headless.View) bool { return v.Open(ref.Thread).Head.TurnStatus == "completed" })
	if data, err := os.ReadFile(written); err != nil || len(data) == 0 {
		watch.Look(func(v *headless.View) {
			for _, i := range v.Open(ref.Thread).Window.Items {
				t.Logf("%s %s: %+v, command %+v", i.Type, i.Status, i.Text, i.Command)
			}
		})
		t.Errorf("the approved command wrote %q, %v", data, err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the end: %v\n%s", err, said.String())
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("codex (pid %d) is left: %v", pid, err)
	}
	left, err := filepath.Glob(filepath.Join(home, "sekisho", "relay", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	instances, err := filepath.Glob(filepath.Join(state, "relaycodex", "instances", "*"))
	if err != nil || len(instances) != 0 {
		t.Errorf("left behind: %v, %v", instances, err)
	}
}

// cacheDir is a directory outside /tmp, where codex can run its commands.
func cacheDir(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(cache, "newcomer-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
