//go:build linux && !cgo

package overhttp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	scriptmodel "sekisho/test/fakes/ollama"
	"sekisho/test/product"
)

var programs product.Bin

func TestMain(m *testing.M) {
	code := m.Run()
	programs.Close()
	os.Exit(code)
}

// idle is a model that is never asked.
const idle = `{"model":"scripted","capabilities":["completion","tools"],"rules":[{"name":"never planned","reply":{"content":"x"}}]}`

// site is an applied configuration with the HTTP transport, its own state root and its own port.
type site struct {
	t                    *testing.T
	dir, config, program string
	port                 int
	env                  []string
}

// newSite has a model that follows script and further YAML. WORKSPACE in both is replaced.
func newSite(t *testing.T, script, extra string) *site {
	t.Helper()
	program, err := programs.Build("cmd/agent-mcp")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: product.Dir(t), program: program, port: freePort(t)}
	s.config = filepath.Join(s.dir, "config", "agent.yaml")
	s.env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(s.dir, "state"), "XDG_CACHE_HOME="+filepath.Join(s.dir, "cache"))
	workspace := filepath.Join(s.dir, "workspace")
	model, err := scriptmodel.Parse([]byte(strings.ReplaceAll(script, "WORKSPACE", workspace)))
	if err != nil {
		t.Fatal(err)
	}
	fake, err := scriptmodel.Listen(model)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fake.Close() })
	locales, err := filepath.Abs("../../config/locales")
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"workspace/file": "x\n",
		"config/agent.yaml": fmt.Sprintf("schema_version: 2\nmcp: {transport: http, http: {port: %d}}\nollama: {endpoint: %q, model: scripted, think: false}\nlocalization: {directory: %q}\n%s",
			s.port, fake.URL(), locales, strings.ReplaceAll(extra, "WORKSPACE", workspace)),
	} {
		path = filepath.Join(s.dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	apply := s.command("apply", s.config, "--yes")
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("apply: %v\n%s", err, out)
	}
	return s
}

const workspaceOnly = "sandbox: {workspaces: [\"WORKSPACE\"]}\n"

func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, args...)
	cmd.Env = s.env
	return cmd
}

// freePort is a port that nobody listened on a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// server is a running agent-mcp.
type server struct {
	*site
	cmd    *exec.Cmd
	stdout bytes.Buffer
	ended  chan struct{}
	err    error
	ready  chan struct{}

	mu     sync.Mutex
	stderr bytes.Buffer
}

// start returns when the server announced that it is ready.
func (s *site) start() *server {
	s.t.Helper()
	v := s.launch()
	v.await()
	return v
}

func (v *server) await() {
	v.t.Helper()
	select {
	case <-v.ready:
	case <-v.ended:
		v.t.Fatalf("the server ended before it was ready: %v\n%s", v.err, v.log())
	case <-time.After(time.Minute):
		v.t.Fatalf("the server did not become ready:\n%s", v.log())
	}
}

func (s *site) launch() *server {
	s.t.Helper()
	return s.run(s.command(s.config))
}

func (s *site) run(cmd *exec.Cmd) *server {
	s.t.Helper()
	v := &server{site: s, cmd: cmd, ended: make(chan struct{}), ready: make(chan struct{})}
	v.cmd.Stdout = &v.stdout
	logs, err := v.cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := product.Start(v.cmd); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		v.watch(logs)
		v.err = v.cmd.Wait()
		close(v.ended)
	}()
	s.t.Cleanup(func() {
		v.cmd.Process.Kill()
		<-v.ended
	})
	return v
}

func (v *server) watch(r io.Reader) {
	announced := false
	for b := bufio.NewReader(r); ; {
		line, err := b.ReadString('\n')
		v.mu.Lock()
		v.stderr.WriteString(line)
		v.mu.Unlock()
		if !announced && strings.Contains(line, "msg=ready") {
			announced = true
			close(v.ready)
		}
		if err != nil {
			return
		}
	}
}

func (v *server) log() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stderr.String()
}

// stop ends the server with a signal and returns its exit code.
func (v *server) stop(sig os.Signal) int {
	v.t.Helper()
	if err := v.cmd.Process.Signal(sig); err != nil {
		v.t.Fatal(err)
	}
	select {
	case <-v.ended:
	case <-time.After(time.Minute):
		v.t.Fatalf("the server did not end:\n%s", v.log())
	}
	var exit *exec.ExitError
	if errors.As(v.err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

func (s *site) addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

func (s *site) url() string { return "http://" + s.addr() + "/mcp" }

// http is a client that keeps no connection beyond the test.
func (s *site) http() *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	s.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

// post sends one body and returns status and answer.
func (s *site) post(c *http.Client, body string, header ...string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest("POST", s.url(), strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		s.t.Errorf("the server sent the session id %q", id)
	}
	if kind := resp.Header.Get("Content-Type"); strings.Contains(kind, "event-stream") {
		s.t.Errorf("the answer is an event stream: %s", answer)
	}
	return resp.StatusCode, string(answer)
}

// tool calls a tool in the era with initialize and returns the lines of its text.
func (s *site) tool(c *http.Client, name string, arguments any) map[string]string {
	s.t.Helper()
	args, err := json.Marshal(arguments)
	if err != nil {
		s.t.Fatal(err)
	}
	status, answer := s.post(c, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args))
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(answer), &m); err != nil || status != 200 || len(m.Result.Content) != 1 {
		s.t.Fatalf("%s: %d %s", name, status, answer)
	}
	fields := map[string]string{}
	for line := range strings.Lines(m.Result.Content[0].Text) {
		k, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[k] = strings.TrimSpace(value)
	}
	return fields
}

// await asks for a task until one of states is reached.
func (s *site) await(c *http.Client, task string, states ...string) map[string]string {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond) // the client's poll interval, as agent_status has no other way
	defer tick.Stop()
	for range 1200 {
		got := s.tool(c, "agent_status", map[string]string{"task_id": task})
		for _, want := range states {
			if got["status"] == want {
				return got
			}
		}
		<-tick.C
	}
	s.t.Fatalf("task %s reached none of %v", task, states)
	return nil
}
