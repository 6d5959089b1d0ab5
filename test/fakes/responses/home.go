package responses

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Config is a config.toml. Zero members take the defaults.
type Config struct {
	BaseURL string   // of the provider; required
	Model   string   // default gpt-6.1-sol, for which 0.159.1 has all tools; "fake-model" is one that no version knows
	Sandbox string   // default read-only
	Trusted []string // absolute directories
	Keys    string   // more lines of the first table
	Extra   string   // more TOML tables, such as [mcp_servers.NAME]
}

// Home writes a config.toml with the defaults of Config into dir. extra is more of it; each of trusted is an absolute
// directory.
func Home(dir, baseURL, extra string, trusted ...string) error {
	return Config{BaseURL: baseURL, Extra: extra, Trusted: trusted}.Write(dir)
}

// TempHome makes a directory for a CODEX_HOME, removed at the end of the test. It is not below /tmp, which the CLI's own
// sandbox hides from the helper program that it keeps in its home: no command would run.
func TempHome(t TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatalf("making a home: %v", err)
	}
	dir, err := os.MkdirTemp(cache, "codex-home-")
	if err != nil {
		t.Fatalf("making a home: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Write writes config.toml into dir, a throw-away CODEX_HOME such as TempHome, with which the real CLI asks the provider and
// asks before it acts.
func (c Config) Write(dir string) error {
	if c.Model == "" {
		c.Model = "gpt-6.1-sol"
	}
	if c.Sandbox == "" {
		c.Sandbox = "read-only"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `model = %q
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = %q
check_for_update_on_startup = false
%s
[model_providers.fake]
name = "Fake"
base_url = %q
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`, c.Model, c.Sandbox, c.Keys, c.BaseURL)
	for _, d := range c.Trusted {
		fmt.Fprintf(&b, "\n[projects.%q]\ntrust_level = \"trusted\"\n", d)
	}
	if c.Extra != "" {
		b.WriteString("\n" + c.Extra)
	}
	return os.WriteFile(filepath.Join(dir, "config.toml"), []byte(b.String()), 0o600)
}
