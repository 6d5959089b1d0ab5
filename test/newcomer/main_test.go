//go:build linux && realcodex

package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sekisho/test/headless"
	"sekisho/test/product"
	"sekisho/test/relayworld"
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
	c := relayworld.Start(ctx, t, cmd)
	pid := c.Connected()
	environment, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil || bytes.Contains(environment, []byte("canary-key")) {
		t.Errorf("the person's key reached the codex of the try (%v)", err)
	}
	id := c.Thread()
	turn := c.Send(id, "hello")
	card := c.Card(id)
	written := filepath.Join(card.Command.Cwd.Lines[0], "hello.txt")
	if _, err := os.Stat(written); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the answer: %v", err)
	}
	c.Must(c.Choose(card, "accept"))
	c.Turn(id, turn, "completed")
	if data, err := os.ReadFile(written); err != nil || len(data) == 0 {
		c.Watch.Look(func(v *headless.View) {
			for _, i := range v.Open(id).Window.Items {
				t.Logf("%s %s: %+v, command %+v", i.Type, i.Status, i.Text, i.Command)
			}
		})
		t.Errorf("the approved command wrote %q, %v", data, err)
	}
	c.Interrupt(pid)
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
