package relayworld

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Remote is a real app-server that listens on a WebSocket of loopback and wants a bearer token.
type Remote struct {
	URL    string
	cmd    *exec.Cmd
	output Log
}

// WriteToken writes Token to a file for Listen and for a profile.
func WriteToken(path string) error { return os.WriteFile(path, []byte(Token+"\n"), 0o600) }

// Listen starts the app-server of a codex in dir, with its own CODEX_HOME, and returns when it is ready.
func Listen(ctx context.Context, codex, dir, home, tokenFile string) (*Remote, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	l.Close()
	r := &Remote{URL: "ws://" + address, cmd: exec.Command(codex, "app-server", "--listen", "ws://"+address, "--ws-auth", "capability-token", "--ws-token-file", tokenFile)}
	r.cmd.Dir, r.cmd.Env = dir, Env(home)
	r.cmd.Stdout, r.cmd.Stderr = &r.output, &r.output
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	limit := time.After(time.Minute)
	for {
		resp, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return r, nil
			}
		}
		select {
		case <-limit:
			r.Close()
			return nil, fmt.Errorf("the server is not ready: %v\n%s", err, r.output.String())
		case <-ctx.Done():
			r.Close()
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond): // its readiness can only be polled
		}
	}
}

// Close kills the server with what it started, and waits for its end.
func (r *Remote) Close() {
	syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	r.cmd.Wait()
}
