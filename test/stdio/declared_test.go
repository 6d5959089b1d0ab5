//go:build linux && !cgo

package stdio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A workspace declared through a chain of links is used by the path that the person typed: the model is told it, file tools
// and processes take it. When a link leads elsewhere afterwards, the server does not start and says which.
//
// proves A-POL-02, A-POL-08, A-SES-02, A-CFG-05, ST-24
func TestWorkspaceIsUsedByItsDeclaredName(t *testing.T) {
	s := newSite(t, `{"model":"scripted","capabilities":["completion","tools"],"rules":[
		{"name":"plan","when":{"phase":"plan","system_contains":"(also known as WORKSPACE-link)"},"reply":{"content":{"tasks":[{"id":"t1","description":"copy it","depends_on":[],"budget_class":"1K","optimistic_tokens":1,"most_likely_tokens":2,"pessimistic_tokens":3,"requires_external_effect":true,"required_tools":["file_read","file_edit","process_run"]}]}}},
		{"name":"read","once":true,"when":{"phase":"run"},"reply":{"tool_calls":[{"name":"file_read","arguments":{"path":"WORKSPACE-link/file","mode":"whole"}}]}},
		{"name":"write","once":true,"when":{"phase":"run","last_tool":"file_read","last_tool_ok":true},"reply":{"tool_calls":[{"name":"file_edit","arguments":{"path":"WORKSPACE-link/made","operation":"overwrite","content":"by the tool\n","patch":null,"expected_sha256":null,"new_path":null}}]}},
		{"name":"run","once":true,"when":{"phase":"run","last_tool":"file_edit","last_tool_ok":true},"reply":{"tool_calls":[{"name":"process_run","arguments":{"executable":"sh","args":["-c","cat WORKSPACE-link/file WORKSPACE-link/made >WORKSPACE-link/both"],"cwd":"WORKSPACE-link","timeout_seconds":60,"stdin":null}}]}},
		{"name":"done","when":{"phase":"run","last_tool":"process_run","last_tool_ok":true},"reply":{"content":"copied"}}]}`,
		shell)
	workspace := s.Workspace
	relink := func(name, to string) {
		os.Remove(filepath.Join(s.Dir, name))
		if err := os.Symlink(to, filepath.Join(s.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	relink("hop", "workspace")
	relink("workspace-link", "hop")
	s.Reconfigure("sandbox:\n  workspaces: [\"WORKSPACE-link\"]\n" + shell)
	if status := task(t, s, "copy it"); status["status"] != "completed" {
		t.Errorf("got %v, want completed", status)
	}
	if got, err := os.ReadFile(filepath.Join(workspace, "both")); err != nil || string(got) != "x\nby the tool\n" {
		t.Errorf("what the process made: %q, %v", got, err)
	}
	nothingLeft(t, s)
	logs, err := filepath.Glob(filepath.Join(s.Dir, "*", "*", "*", "audit.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("audit logs %v, %v", logs, err)
	}
	if audit, err := os.ReadFile(logs[0]); err != nil || !strings.Contains(string(audit), `"path":"`+workspace+`","declared_as":["`+workspace+`-link"]`) {
		t.Errorf("the audit does not tell the declared path: %v\n%s", err, audit)
	}

	if err := os.Mkdir(filepath.Join(s.Dir, "other"), 0o755); err != nil {
		t.Fatal(err)
	}
	relink("hop", "other")
	out, err := s.Command(s.Config).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "[configuration.changed]") || !strings.Contains(string(out), workspace+"-link") || !strings.Contains(string(out), filepath.Join(s.Dir, "other")) {
		t.Errorf("start after a link was changed: %v\n%s", err, out)
	}
}
