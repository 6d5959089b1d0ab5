//go:build realcodex

package e2ecore

import (
	"bufio"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/responses"
	"sekisho/test/headless"
	"sekisho/test/product"
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
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
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
			t.Fatal(err)
		}
	}
	var pid int
	wait("the connection", func(v *headless.View) bool {
		if p := v.Connection.Process; p != nil {
			pid = p.PID
		}
		return v.Connection.State == uicontract.Connected && pid > 0
	})
	var ref uicontract.ThreadRef
	if r, err := client.Do(ctx, uicontract.CmdThreadStart, uicontract.ThreadStart{}, &ref); err != nil || r.Status != uicontract.Done {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err := client.Do(ctx, uicontract.CmdTurnSend, uicontract.TurnSend{Thread: ref.Thread, Text: "SCN text canary-words of the model"}, nil); err != nil || r.Status != uicontract.Done {
		t.Fatalf("%+v, %v", r, err)
	}
	wait("the answer", func(v *headless.View) bool {
		texts := v.Texts(ref.Thread, "agentMessage")
		return len(texts) == 1 && texts[0] == "canary-words of the model" && v.Open(ref.Thread).Head.TurnStatus == "completed"
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the end: %v", err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("codex (pid %d) is left: %v", pid, err)
	}
	_, key, _ := strings.Cut(strings.TrimSpace(address), "#")
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
