package responses

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Home writes a config.toml into dir, a throw-away CODEX_HOME, with which the real CLI asks the provider at baseURL, asks
// before it acts, may write nothing, and trusts each directory of trusted. extra is added as it is: more tables, such as
// [mcp_servers.NAME].
func Home(dir, baseURL, extra string, trusted ...string) error {
	var b strings.Builder
	fmt.Fprintf(&b, `model = "fake-model"
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false

[model_providers.fake]
name = "Fake"
base_url = %s
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`, strconv.Quote(baseURL))
	for _, d := range trusted {
		fmt.Fprintf(&b, "\n[projects.%s]\ntrust_level = \"trusted\"\n", strconv.Quote(d))
	}
	if extra != "" {
		b.WriteString("\n" + extra)
	}
	return os.WriteFile(filepath.Join(dir, "config.toml"), []byte(b.String()), 0o600)
}
