//go:build linux && !cgo

package overhttp

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"sekisho/test/agentsite"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// proves A-MCP-05, A-MCP-06, A-MCP-01
func TestBothErasAreServed(t *testing.T) {
	s := newSite(t, agentsite.Idle, agentsite.Workspace)
	v := s.Start()
	c := s.http()
	for name, r := range map[string]struct {
		body   string
		header []string
		want   string
	}{
		"initialize": {`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil, `"serverInfo"`},
		"list":       {`{"jsonrpc":"2.0","id":0,"method":"tools/list"}`, []string{"MCP-Protocol-Version", "2025-06-18"}, `"agent_status"`},
		"discover":   {`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + modernMeta + `}}`, []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover"}, `"supportedVersions"`},
		"modern":     {`{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{` + modernMeta + `}}`, []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}, `"agent_status"`},
	} {
		status, answer := s.post(c, r.body, r.header...)
		var m struct {
			ID     *int
			Result json.RawMessage
		}
		if err := json.Unmarshal([]byte(answer), &m); err != nil || status != 200 || m.ID == nil || *m.ID != 0 || !strings.Contains(string(m.Result), r.want) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if status, answer := s.post(c, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != 202 || answer != "" {
		t.Errorf("a notification: %d %q", status, answer)
	}
	if code := v.StopBy(syscall.SIGTERM); code != 0 || v.Out.String() != "" {
		t.Errorf("exit code %d, stdout %q\n%s", code, v.Out.String(), v.Log.String())
	}
}
