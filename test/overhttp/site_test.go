//go:build linux && !cgo

package overhttp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/test/agentsite"
	"sekisho/test/mcpclient"
	"sekisho/test/product"
)

var programs product.Bin

func TestMain(m *testing.M) { programs.Main(m) }

// site is an applied configuration with the HTTP transport and its own port.
type site struct {
	*agentsite.Tested
	t    *testing.T
	port int
}

// newSite has a model that follows script and further YAML. WORKSPACE in both is replaced.
func newSite(t *testing.T, script, extra string) *site {
	t.Helper()
	port, err := agentsite.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return &site{agentsite.ForTest(t, &programs, agentsite.Options{Script: script, YAML: fmt.Sprintf("mcp: {transport: http, http: {port: %d}}\n", port) + extra}), t, port}
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
	return mcpclient.Fields(m.Result.Content[0].Text)
}

// await asks for a task until one of states is reached; agent_status has no other way.
func (s *site) await(c *http.Client, task string, states ...string) (got map[string]string) {
	s.t.Helper()
	agentsite.Poll(s.t, fmt.Sprintf("one of %v", states), func() bool {
		got = s.tool(c, "agent_status", map[string]string{"task_id": task})
		return slices.Contains(states, got["status"])
	})
	return got
}
