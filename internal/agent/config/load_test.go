package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
)

// proves A-CFG-01
func TestOneRunReportsEveryProblem(t *testing.T) {
	places := place(t, `schema_version: 3
aplication:
  language: en
mcp:
  transport: htpp
  http: {host: 0.0.0.0, port: 65536}
agent:
  user_system_prompt: missing.md
  max_iterations: many
ollama:
  endpoint: ftp://example.org
  temperature: 0.2
  think: maybe
  options: {num_ctx: "8192", top_k: 0x10}
sandbox:
  profle: readonly
  mounts:
    - path: /data
    - {path: /data, access: execute}
  network: {local_endpoints: [0]}
  network: {}
logging:
  http_requests: yes
`, "")
	l, p := Load(places)
	got := report(t, p, l.Locale, places)
	want := `DIR/conf/agent.yaml:21:3: error: sandbox.network: This key is already given in line 20.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("duplicate key (-want +got):\n%s", diff)
	}

	data, err := os.ReadFile(places.Config)
	if err != nil {
		t.Fatal(err)
	}
	put(t, places.Config, strings.Replace(string(data), "  network: {}\n", "", 1))
	l, p = Load(places)
	got = report(t, p, l.Locale, places)
	want = `DIR/conf/agent.yaml:1:17: error: schema_version: 3 is out of range.
    Accepted: 2
DIR/conf/agent.yaml:2:1: error: aplication: There is no such key.
    Did you mean application?
DIR/conf/agent.yaml:5:14: error: mcp.transport: "htpp" is not an accepted value.
    Accepted: stdio, http
DIR/conf/agent.yaml:6:16: error: mcp.http.host: "0.0.0.0" is not an accepted value.
    Accepted: 127.0.0.1, ::1
DIR/conf/agent.yaml:6:31: error: mcp.http.port: 65536 is out of range.
    Accepted: a whole number from 1 to 65535
DIR/conf/agent.yaml:8:23: error: agent.user_system_prompt: There is no file or directory DIR/conf/missing.md.
DIR/conf/agent.yaml:9:19: error: agent.max_iterations: "many" has the wrong type.
    Accepted: a whole number from 1 to 2147483647
DIR/conf/agent.yaml:11:13: error: ollama.endpoint: This is not the address of a server.
    Accepted: an http or https address such as http://localhost:11434
DIR/conf/agent.yaml:12:3: error: ollama.temperature: There is no such key.
    Did you mean ollama.options.temperature?
DIR/conf/agent.yaml:13:10: error: ollama.think: "maybe" is not an accepted value.
    Accepted: true, false, low, medium, high, max
DIR/conf/agent.yaml:14:22: error: ollama.options.num_ctx: "8192" has the wrong type.
    Accepted: a whole number from 1 to 2147483647
DIR/conf/agent.yaml:14:37: error: ollama.options.top_k: 0x10 has the wrong type.
    Accepted: a whole number from -2147483648 to 2147483647
DIR/conf/agent.yaml:16:3: error: sandbox.profle: There is no such key.
    Did you mean sandbox.profile?
DIR/conf/agent.yaml:18:7: error: sandbox.mounts[0].access: This key is required.
    Accepted: read_only, read_write, read_write_delete
DIR/conf/agent.yaml:19:29: error: sandbox.mounts[1].access: "execute" is not an accepted value.
    Accepted: read_only, read_write, read_write_delete
DIR/conf/agent.yaml:20:31: error: sandbox.network.local_endpoints[0]: 0 is out of range.
    Accepted: a whole number from 1 to 65535
DIR/conf/agent.yaml:22:18: error: logging.http_requests: "yes" has the wrong type.
    Accepted: true, false
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if code := fault.CodeOf(p.Err()); code != fault.ConfigurationInvalid {
		t.Errorf("code %q", code)
	}
}

// proves A-CFG-02
func TestOverlayIsMergedAtNodeLevel(t *testing.T) {
	places := place(t, `schema_version: 2
ollama:
  model: base
  options: {num_ctx: 1024, stop: [a, b]}
sandbox:
  workspaces: [one, two]
  profile: readonly
`, `ollama:
  options: {stop: [c]}
  model: local
sandbox:
  workspaces: [three]
limits:
  whole_read_bytes: none
planner:
`)
	l, p := Load(places)
	want := "DIR/conf/agent.local.yaml:7:21: error: limits.whole_read_bytes: \"none\" has the wrong type.\n    Accepted: a whole number from 1 to 2147483647\n"
	if diff := cmp.Diff(want, report(t, p, l.Locale, places)); diff != "" {
		t.Errorf("a problem of the overlay (-want +got):\n%s", diff)
	}
	c := l.Config
	if got := *c.Ollama.Options.NumCtx; got != 1024 {
		t.Errorf("a key that only the base has: %d", got)
	}
	if diff := cmp.Diff([]string{"c"}, c.Ollama.Options.Stop); diff != "" {
		t.Errorf("a sequence is replaced, not appended:\n%s", diff)
	}
	if c.Ollama.Model != "local" || c.Sandbox.Profile != ProfileReadonly {
		t.Errorf("scalars: %q, %q", c.Ollama.Model, c.Sandbox.Profile)
	}
	// A-CFG-06: also a path in the overlay resolves against the base file's directory.
	wantPath := []Path{{Logical: "three", Abs: filepath.Join(filepath.Dir(places.Config), "three"), Key: "sandbox.workspaces[0]"}}
	if diff := cmp.Diff(wantPath, c.Sandbox.Workspaces); diff != "" {
		t.Errorf("workspaces:\n%s", diff)
	}
	if diff := cmp.Diff([]string{places.Config, filepath.Join(filepath.Dir(places.Config), OverlayName)}, l.Files); diff != "" {
		t.Errorf("files:\n%s", diff)
	}
}

// proves A-CFG-01, A-OLL-09
func TestRefusedValues(t *testing.T) {
	for _, tt := range []struct {
		name, yaml string
		path       string
		code       fault.Code // "" is the code of the whole configuration
		text       string
	}{
		{"an empty list", "sandbox: {network: {access: local, local_endpoints: []}}", "sandbox.network.access", "", "config.network.empty"},
		{"no list", "sandbox: {network: {access: restricted}}", "sandbox.network.access", "", "config.network.empty"},
		{"the other list", "sandbox: {network: {access: local, local_endpoints: [80], restricted_endpoints: [{host: a.example, ports: [1]}]}}", "sandbox.network.restricted_endpoints", "", "config.network.mode_mismatch"},
		{"a port of UDP", "sandbox: {network: {access: local, local_endpoints: [53/udp]}}", "sandbox.network.local_endpoints[0]", "", "config.network.udp"},
		{"a host of UDP", "sandbox: {network: {access: restricted, restricted_endpoints: [{host: 'udp://a.example', ports: [53]}]}}", "sandbox.network.restricted_endpoints[0].host", "", "config.network.udp"},
		{"the protocol UDP", "sandbox: {network: {access: restricted, restricted_endpoints: [{host: a.example, ports: [53], protocol: UDP}]}}", "sandbox.network.restricted_endpoints[0].protocol", "", "config.network.udp"},
		{"ports of UDP", "sandbox: {network: {access: restricted, restricted_endpoints: [{host: a.example, udp_ports: [53]}]}}", "sandbox.network.restricted_endpoints[0].udp_ports", "", "config.network.udp"},
		{"a host without ports", "sandbox: {network: {access: restricted, restricted_endpoints: [{host: a.example, ports: []}]}}", "sandbox.network.restricted_endpoints[0].ports", "", "config.network.no_ports"},
		{"a host in an odd form", "sandbox: {network: {access: restricted, restricted_endpoints: [{host: a.example, ports: [1]}, {host: '0x7f.1', ports: [1]}]}}", "sandbox.network.restricted_endpoints[1].host", "", "error.configuration.invalid.policy_host"},
		{"a host with NUL", "sandbox: {network: {access: restricted, restricted_endpoints: [{host: \"evil\\0.good.example\", ports: [1]}]}}", "sandbox.network.restricted_endpoints[0].host", "", "yaml.nul"},
		{"a host with a zone", "sandbox: {network: {access: restricted, restricted_endpoints: [{host: 'fe80::1%eth0', ports: [1]}]}}", "sandbox.network.restricted_endpoints[0].host", "", "error.configuration.invalid.policy_host"},
		{"localhost", "sandbox: {network: {access: restricted, restricted_endpoints: [{host: LocalHost., ports: [1]}]}}", "sandbox.network.restricted_endpoints[0].host", "", "error.configuration.invalid.policy_host_localhost"},
		{"temp_mb of zero", "sandbox: {temp_mb: 0}", "sandbox.temp_mb", "", "yaml.out_of_range"},
		{"home_mb below zero", "sandbox: {home_mb: -1}", "sandbox.home_mb", "", "yaml.out_of_range"},
		{"skills come later", "skills: {directory: x}", "skills.directory", fault.FeatureUnavailable, "config.later.skills"},
		{"endpoints of another mode", "sandbox: {network: {local_endpoints: [80]}}", "sandbox.network.local_endpoints", "", "config.network.mode_mismatch"},
		{"user info", "ollama: {endpoint: 'http://me:secret@localhost'}", "ollama.endpoint", "", "config.ollama.user_info"},
		{"query", "ollama: {endpoint: 'http://localhost/?a=b'}", "ollama.endpoint", "", "config.ollama.query"},
		{"port", "ollama: {endpoint: 'http://localhost:70000'}", "ollama.endpoint", "", "config.ollama.port"},
		{"no host", "ollama: {endpoint: 'http:///x'}", "ollama.endpoint", "", "config.ollama.endpoint"},
		{"header without form", "ollama: {header_name: 'a b'}", "ollama.header_name", "", "config.ollama.header_name"},
		{"header that frames the request", "ollama: {header_name: Content-Length}", "ollama.header_name", "", "config.ollama.header_name"},
		{"keep_alive without unit", "ollama: {keep_alive: '300'}", "ollama.keep_alive", "", "yaml.not_allowed"},
		{"keep_alive true", "ollama: {keep_alive: true}", "ollama.keep_alive", "", "yaml.not_allowed"},
		{"temperature", "ollama: {options: {temperature: 2.1}}", "ollama.options.temperature", "", "yaml.out_of_range"},
		{"infinite number", "ollama: {options: {top_p: .inf}}", "ollama.options.top_p", "", "yaml.wrong_type"},
		{"extra option that is no JSON", "ollama: {extra_options: {a: .nan}}", "ollama.extra_options.a", "", "yaml.wrong_type"},
		{"alias twice", "sandbox: {execution: {entries: [{alias: go, path: /a}, {alias: GO, path: /b}]}}", "sandbox.execution.entries[1].alias", "", "config.alias.twice"},
		{"alias with a slash", "sandbox: {execution: {entries: [{alias: ../go, path: /a}]}}", "sandbox.execution.entries[0].alias", "", "config.alias.form"},
		{"write mount under readonly", "sandbox: {profile: readonly, mounts: [{path: /a, access: read_write}]}", "sandbox.mounts[0].access", "", "yaml.not_allowed"},
		{"home", "sandbox: {workspaces: [~/x]}", "sandbox.workspaces[0]", "", "config.path.shell"},
		{"another's home", "sandbox: {workspaces: [~me/x]}", "sandbox.workspaces[0]", "", "config.path.shell"},
		{"a variable", "sandbox: {workspaces: [$HOME/x]}", "sandbox.workspaces[0]", "", "config.path.shell"},
		{"a variable in braces", "logging: {directory: '${HOME}/x'}", "logging.directory", "", "config.path.shell"},
		{"a variable of Windows", "skills: {directory: '%USERPROFILE%/x'}", "skills.directory", "", "config.path.shell"},
		{"an entry that is no map", "sandbox: {execution: {entries: [go]}}", "sandbox.execution.entries[0]", "", "yaml.wrong_type"},
		{"a mount that is no map", "sandbox: {mounts: [/data]}", "sandbox.mounts[0]", "", "yaml.wrong_type"},
		{"empty path", "sandbox: {workspaces: ['']}", "sandbox.workspaces[0]", "", "config.path.empty"},
		{"zero ratio", "limits: {context_summary_ratio: 0}", "limits.context_summary_ratio", "", "yaml.out_of_range"},
		{"cap above the hard one", "limits: {search_max_results: 1001}", "limits.search_max_results", "", "yaml.out_of_range"},
		{"language", "application: {language: xx}", "application.language", "", "config.language_unknown"},
		{"fallback", "localization: {fallback: ja}", "localization.fallback", "", "yaml.not_allowed"},
		{"relative cgroup", "sandbox: {resources: {cgroup: x}}", "sandbox.resources.cgroup", "", "yaml.not_allowed"},
		{"list for a map", "sandbox: []", "sandbox", "", "yaml.wrong_type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			places := place(t, "schema_version: 2\n"+tt.yaml+"\n", "")
			l, p := Load(places)
			if len(p.Errors) != 1 {
				t.Fatalf("want one error, got:\n%s", report(t, p, l.Locale, places))
			}
			e := p.Errors[0]
			if e.Path != tt.path || e.Code != tt.code || e.Text.Key != tt.text {
				t.Errorf("got %s %q %s, want %s %q %s", e.Path, e.Code, e.Text.Key, tt.path, tt.code, tt.text)
			}
			if e.Pos.Line != 2 {
				t.Errorf("line %d", e.Pos.Line)
			}
			if strings.Contains(report(t, p, l.Locale, places), "secret") {
				t.Error("a password is repeated")
			}
			wantCode := tt.code
			if wantCode == "" {
				wantCode = fault.ConfigurationInvalid
			}
			if code := fault.CodeOf(p.Err()); code != wantCode {
				t.Errorf("code %q, want %q", code, wantCode)
			}
		})
	}
}

// proves A-OLL-02, A-OLL-09
func TestWarnings(t *testing.T) {
	places := place(t, `schema_version: 2
ollama:
  endpoint: HTTP://gpu.example:8080/base/
  header_name: X-Key
  options: {tfs_z: 1, mirostat: 2, mirostat_tau: 1.5, mirostat_eta: 0.1}
  extra_options: {num_ctx: 5, draft_num_predict: 3, nested: {a: [1, "x", true, null]}, seed: 1}
`, "")
	l, p := Load(places)
	want := `DIR/conf/agent.yaml:3:13: warning: ollama.endpoint: Requests to gpu.example travel unencrypted.
DIR/conf/agent.yaml:4:16: warning: ollama.header_name: Without ollama.header_value_file no header is sent.
DIR/conf/agent.yaml:5:20: warning: ollama.options.tfs_z: Current versions of Ollama ignore this option.
DIR/conf/agent.yaml:5:33: warning: ollama.options.mirostat: Current versions of Ollama ignore this option.
DIR/conf/agent.yaml:5:50: warning: ollama.options.mirostat_tau: Current versions of Ollama ignore this option.
DIR/conf/agent.yaml:5:69: warning: ollama.options.mirostat_eta: Current versions of Ollama ignore this option.
DIR/conf/agent.yaml:6:28: warning: ollama.extra_options.num_ctx: This is not sent from here; use ollama.options.num_ctx.
DIR/conf/agent.yaml:6:94: warning: ollama.extra_options.seed: This is not sent from here; use ollama.options.seed.
`
	if diff := cmp.Diff(want, report(t, p, l.Locale, places)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.Err() != nil {
		t.Errorf("warnings are no error: %v", p.Err())
	}
	wantExtra := map[string]json.RawMessage{"draft_num_predict": json.RawMessage("3"), "nested": json.RawMessage(`{"a":[1,"x",true,null]}`)}
	if diff := cmp.Diff(wantExtra, l.Config.Ollama.Extra); diff != "" {
		t.Errorf("extra options:\n%s", diff)
	}
	if got, want := l.Config.Ollama.Endpoint, "http://gpu.example:8080/base"; got != want {
		t.Errorf("endpoint %q, want %q", got, want)
	}
}

// proves A-CFG-03
func TestFingerprint(t *testing.T) {
	load := func(base, over string) string {
		l, p := Load(place(t, base, over))
		if err := p.Err(); err != nil {
			t.Fatal(err)
		}
		return l.Fingerprint
	}
	base := load("schema_version: 2\nplanner: {max_tasks: 3}\nagent: {max_iterations: 4}\n", "")
	same := load("# note\nagent:\n  max_iterations: 4\nplanner: {\"max_tasks\": 3}\nschema_version: 2 # two\n", "")
	if base != same {
		t.Error("comments, order and layout change the fingerprint")
	}
	if merged := load("schema_version: 2\nplanner: {max_tasks: 9}\n", "planner: {max_tasks: 3}\nagent: {max_iterations: 4}\n"); merged != base {
		t.Error("the fingerprint is not that of the merged tree")
	}
	for _, other := range []string{
		"schema_version: 2\nplanner: {max_tasks: 4}\nagent: {max_iterations: 4}\n",
		"schema_version: 2\nplanner: {max_tasks: 3}\nagent: {max_iterations: 4}\nollama: {keep_alive: 5m}\n",
	} {
		if load(other, "") == base {
			t.Errorf("a written value does not change the fingerprint: %s", other)
		}
	}
}
