//go:build realcodex

package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/internal/proctree"
	"sekisho/test/fakes/responses"
)

// realWorker is the part of a worker that runs the real server until it is killed: the model wants `sleep 1000`, and
// whatever is asked is accepted.
func realWorker() {
	dir := os.Getenv("TRANSPORT_TEST_DIR")
	ctx := context.Background()
	conn, child, err := StartChild(ctx, ChildOptions{Program: os.Getenv("TRANSPORT_TEST_CODEX"), Args: []string{"app-server"}, Dir: dir, Grace: 300 * time.Millisecond})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("pid", child.PID())
	say := func(format string, args ...any) {
		if _, err := conn.Write(ctx, fmt.Appendf(nil, format, args...)); err != nil {
			fmt.Println("error", err)
		}
	}
	say(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"relaycodex","version":"0.159.1"}}}`)
	for {
		frame, err := conn.Read(ctx)
		if err != nil {
			fmt.Println("error", err)
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Result struct{ Thread struct{ ID string } }
			Params struct {
				Item struct{ Type, Command string }
			}
		}
		if err := json.Unmarshal(frame, &m); err != nil {
			fmt.Println("error", err)
		}
		switch {
		case m.Method == "" && string(m.ID) == "1":
			say(`{"method":"initialized"}`)
			say(`{"id":2,"method":"thread/start","params":{"cwd":%q}}`, dir)
		case m.Method == "" && string(m.ID) == "2":
			say(`{"id":3,"method":"turn/start","params":{"threadId":%q,"input":[{"type":"text","text":%q}]}}`, m.Result.Thread.ID,
				`SCN call exec_command {"cmd":"sleep 1000","yield_time_ms":100000}`)
		case m.Method != "" && m.ID != nil:
			say(`{"id":%s,"result":{"decision":"accept"}}`, m.ID)
		case m.Method == "turn/completed":
			fmt.Println("error: the turn is over")
		case m.Method == "item/started" && m.Params.Item.Type == "commandExecution":
			fmt.Println("running", m.Params.Item.Command)
		}
	}
}

func init() { realPart = realWorker }

func codexPath(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("scripts/codex", "0.159.1")
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scripts/codex: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// home is a throw-away CODEX_HOME and a working directory.
func home(t *testing.T) (home, work string) {
	t.Helper()
	home, work = responses.TempHome(t), t.TempDir()
	if err := responses.Home(home, responses.Start(t).URL(), "", work); err != nil {
		t.Fatal(err)
	}
	return home, work
}

// proves R-CONN-10
func TestTheRealServerAndItsCommandEndWithTheWorker(t *testing.T) {
	home, work := home(t)
	worker := exec.Command(self())
	worker.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // if the test itself is cut short
	worker.Env = append(os.Environ(), partVar+"=real", "CODEX_HOME="+home, "TRANSPORT_TEST_CODEX="+codexPath(t), "TRANSPORT_TEST_DIR="+work)
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer worker.Process.Kill()
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil || strings.HasPrefix(line, "error") {
			t.Fatalf("the worker says %q, %v", line, err)
		}
		if strings.Contains(line, "sleep 1000") {
			break
		}
	}
	sleeping := func(ids []proctree.ID) bool {
		for _, id := range ids {
			data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID))
			if strings.HasPrefix(string(data), "sleep\x00") {
				return true
			}
		}
		return false
	}
	var all []proctree.ID
	limit := time.After(20 * time.Second)
	for !sleeping(all) {
		if all, err = proctree.Descendants(worker.Process.Pid); err != nil {
			t.Fatal(err)
		}
		select {
		case <-limit:
			t.Fatalf("the command does not run; %d processes", len(all))
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Logf("%d processes below the worker", len(all))
	begin := time.Now()
	worker.Process.Kill()
	worker.Wait()
	gone(t, all)
	t.Logf("all gone %v after the worker", time.Since(begin))
}

// proves R-CONN-05, R-CONN-06, R-CONN-09
func TestTheRealListener(t *testing.T) {
	home, work := home(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	good, bad := file(t, "canary-good-9c1", 0o600), file(t, "canary-bad-9c1", 0o600)
	conn, child, err := StartChild(t.Context(), ChildOptions{Program: codexPath(t), Dir: work, Env: append(os.Environ(), "CODEX_HOME="+home), Grace: time.Second,
		Args: []string{"app-server", "--listen", "ws://" + address, "--ws-auth", "capability-token", "--ws-token-file", good}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ShuttingDown)
	e := Endpoint{URL: "ws://" + address, TokenFile: good}
	limit := time.After(20 * time.Second)
	for ready := false; !ready; {
		ready = Probe(t.Context(), e)[0].Status == 200
		select {
		case <-limit:
			t.Fatal("not ready")
		case <-child.Exited():
			exit, _ := child.Exit()
			t.Fatalf("ended: %v\n%s", exit, exit.Stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
	for _, tokenFile := range []string{"", bad} {
		if _, err := Dial(t.Context(), Endpoint{URL: e.URL, TokenFile: tokenFile}); ClassOf(err) != Auth {
			t.Errorf("token file %q: %v", filepath.Base(tokenFile), err)
		}
	}
	ws := open(t, e)
	if _, err := ws.Write(t.Context(), []byte(`{"id":0,"method":"initialize","params":{"clientInfo":{"name":"relaycodex","version":"0.159.1"}}}`)); err != nil {
		t.Fatal(err)
	}
	if frame, err := ws.Read(t.Context()); err != nil || !strings.Contains(string(frame), `"codexHome"`) {
		t.Errorf("initialize: %s, %v", frame, err)
	}
	// The largest frame that we send is one that it takes.
	frame := fmt.Sprintf(`{"id":1,"method":"no/such","params":{"x":%q}}`, strings.Repeat("x", MaxOutbound-60))
	if len(frame) > MaxOutbound {
		t.Fatal("the test's frame is too large")
	}
	if started, err := ws.Write(t.Context(), []byte(frame)); err != nil || !started {
		t.Fatal(err)
	}
	for {
		frame, err := ws.Read(t.Context())
		if err != nil {
			t.Fatalf("after a frame of %d bytes: %v", MaxOutbound, err)
		}
		if strings.Contains(string(frame), `"id":1`) {
			break
		}
	}
	ws.Close(ByUser)
	conn.Close(ShuttingDown)
	exit, _ := child.Exit()
	if strings.Contains(exit.Stderr, "canary") {
		t.Error("the server's own output holds the token")
	}
}
