//go:build linux && !cgo

package stdio

import (
	"testing"

	"sekisho/test/agentsite"
	"sekisho/test/mcpclient"
)

// A limit that ended a program is told as that limit, through every layer: kernel, backend, tool, runtime, MCP text.
// proves A-SBX-02, A-SBX-09, A-ERR-02
func TestLimitsAreToldAsLimits(t *testing.T) {
	for name, c := range map[string]struct {
		resources, arguments string
		code                 string
	}{
		"time":      {"{}", `{"executable":"sh","args":["-c","sleep 1000"],"cwd":"WORKSPACE","timeout_seconds":1,"stdin":null}`, "resource.time_limit"},
		"processes": {"{process_limit: 4}", `{"executable":"sh","args":["-c","for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; wait"],"cwd":"WORKSPACE","timeout_seconds":60,"stdin":null}`, "resource.process_limit"},
		"memory":    {"{memory_mb: 64}", `{"executable":"sh","args":["-c","head -c 200000000 /dev/zero | tail -c 190000000 | wc -c"],"cwd":"WORKSPACE","timeout_seconds":60,"stdin":null}`, "resource.memory_limit"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, `{"model":"scripted","capabilities":["completion","tools"],"rules":[
				{"name":"plan","when":{"phase":"plan"},"reply":{"content":{"tasks":[{"id":"t1","description":"run it","depends_on":[],"budget_class":"1K","optimistic_tokens":1,"most_likely_tokens":2,"pessimistic_tokens":3,"requires_external_effect":true,"required_tools":["process_run"]}]}}},
				{"name":"run","when":{"phase":"run"},"reply":{"tool_calls":[{"name":"process_run","arguments":`+c.arguments+`}]}}]}`,
				"  execution: {entries: [{alias: sh, path: /bin/sh}]}\n  resources: "+c.resources+"\n")
			status := task(t, s, "run it")
			if status["status"] != "failed" || status["last_error_code"] != c.code || status["replans"] != "1" {
				t.Errorf("got %v, want failed with %s after one replan", status, c.code)
			}
			nothingLeft(t, s)
		})
	}
}

// task hands one request to a fresh server, waits for its end and returns agent_status's fields.
func task(t *testing.T, s *agentsite.Tested, request string) map[string]string {
	t.Helper()
	c := connect(t, s)
	text, err := c.Await(t.Context(), c.run(request))
	if err != nil {
		t.Fatal(err)
	}
	c.end()
	return mcpclient.Fields(text)
}
