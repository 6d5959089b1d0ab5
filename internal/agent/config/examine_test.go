package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
)

// proves A-CFG-01
func TestOneRunTellsWhatIsMissingBesideWhatIsMisspelt(t *testing.T) {
	places := place(t, `schema_version: 2
ollama: {model: 5}
sandbox:
  workspaces: [~/a, gone, $HOME/b, /etc]
  mounts:
    - {path: away, access: all}
    - /data
  execution:
    entries:
      - go
      - {alias: "a b", path: no-file}
      - {alias: x}
      - {path: no-alias}
`, "")
	t.Setenv("HOME", "/home/me")
	l, p := Examine(places)
	want := `DIR/conf/agent.yaml:2:17: error: ollama.model: 5 has the wrong type.
    Accepted: a text; put a number or true/false in quotes.
DIR/conf/agent.yaml:4:16: error: sandbox.workspaces[0]: ~ is not replaced here as a shell does it.
    Write the whole path, such as /home/me/a, or one relative to this file.
DIR/conf/agent.yaml:4:21: error: sandbox.workspaces[1]: The path DIR/conf/gone does not exist.
    Create it, or correct the path in the configuration.
DIR/conf/agent.yaml:4:27: error: sandbox.workspaces[2]: $HOME is not replaced here as a shell does it.
    Write the whole path, such as /home/me/b, or one relative to this file.
DIR/conf/agent.yaml:4:36: error: sandbox.workspaces[3]: /etc is, contains or lies in a directory that the sandbox provides itself.
    Choose a directory that neither is nor contains /dev, /proc, /sys, /tmp or /etc and that does not lie in /dev, /proc or /sys. A directory inside /tmp or /etc can be used.
DIR/conf/agent.yaml:6:8: error: sandbox.mounts[0].path: The path DIR/conf/away does not exist.
    Create it, or correct the path in the configuration.
DIR/conf/agent.yaml:6:28: error: sandbox.mounts[0].access: "all" is not an accepted value.
    Accepted: read_only, read_write, read_write_delete
DIR/conf/agent.yaml:7:7: error: sandbox.mounts[1]: "/data" has the wrong type.
    Write each mount as a map: - {path: /home/me/data, access: read_only}
DIR/conf/agent.yaml:10:9: error: sandbox.execution.entries[0]: "go" has the wrong type.
    Write each program as a map: - {alias: go, path: /usr/local/go/bin/go, runtime_root: /usr/local/go} (runtime_root only if it needs one)
DIR/conf/agent.yaml:11:17: error: sandbox.execution.entries[1].alias: a b cannot be an alias.
    Accepted: 1 to 64 letters, digits and . _ + -, beginning with a letter or digit
DIR/conf/agent.yaml:11:24: error: sandbox.execution.entries[1].path: The path DIR/conf/no-file does not exist.
    Create it, or correct the path in the configuration.
DIR/conf/agent.yaml:12:9: error: sandbox.execution.entries[2].path: This key is required.
DIR/conf/agent.yaml:13:9: error: sandbox.execution.entries[3].alias: This key is required.
DIR/conf/agent.yaml:13:10: error: sandbox.execution.entries[3].path: The path DIR/conf/no-alias does not exist.
    Create it, or correct the path in the configuration.
`
	if diff := cmp.Diff(want, report(t, p, l.Locale, places)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if code := fault.CodeOf(p.Err()); code != fault.ConfigurationInvalid {
		t.Errorf("code %q", code)
	}
}
