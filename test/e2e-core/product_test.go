//go:build realcodex

package e2ecore

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sekisho/test/fakes/responses"
	"sekisho/test/headless"
	"sekisho/test/product"
	"sekisho/test/relayworld"
)

// The product as a person runs it: the codex of PATH, a turn through an address that the command printed, and after the
// end nothing is left: no process, no instance, no text in the log.
//
// proves R-CLI-01, R-CONN-10, R-LOG-01
func TestProduct(t *testing.T) {
	var bin product.Bin
	t.Cleanup(func() { bin.Close() })
	program, err := bin.Build("cmd/relaycodex")
	if err != nil {
		t.Fatal(err)
	}
	provider, home, work, state, path := responses.Start(t), responses.TempHome(t), responses.TempHome(t), t.TempDir(), t.TempDir()
	config := responses.Config{BaseURL: provider.URL(), Trusted: []string{work}}
	if err := config.Write(home); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary(t, "0.159.1"), filepath.Join(path, "codex")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--no-open")
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + path + ":/usr/bin:/bin", "HOME=" + home, "CODEX_HOME=" + home, "XDG_STATE_HOME=" + state, "XDG_CONFIG_HOME=" + home}
	c := relayworld.Start(ctx, t, cmd)
	pid := c.Connected()
	id := c.Thread()
	c.Send(id, "SCN text canary-words of the model")
	c.Wait("the answer", func(v *headless.View) bool {
		texts := v.Texts(id, "agentMessage")
		return len(texts) == 1 && texts[0] == "canary-words of the model" && v.Open(id).Head.TurnStatus == "completed"
	})
	c.Interrupt(pid)
	_, key, _ := strings.Cut(c.Address, "#")
	err = filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, canary := range []string{"canary-words", key} {
			if strings.Contains(string(data), canary) {
				t.Errorf("%s has %q", path, canary)
			}
		}
		if strings.Contains(path, "instances") {
			t.Errorf("left behind: %s", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
