package policy

import (
	"strings"
	"testing"
)

// proves A-SBX-08
func TestRefusedVariables(t *testing.T) {
	for variant, names := range map[string][]string{
		"": {"A", "_", "a_1", "GIT_AUTHOR_NAME", "TOKENIZERS_PARALLELISM", "KEYBOARD", "AUTHOR", "SECRETARY", "CI", "LANG", "NODE_OPTIONS", "npm_config_registry",
			"GOFLAGS", "LDFLAGS", "PROXY_HOST", "HOMEDRIVE", "PATHEXT", "COOKIECUTTER_CONFIG"},
		"policy_environment_name": {"", "1A", "A B", "A=B", "A\x00", "É", "A-B", strings.Repeat("A", maxNameBytes+1)},
		"policy_environment_credential": {"TOKEN", "GITHUB_TOKEN", "NPM_TOKENS", "SECRET", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "API_KEY", "APIKEY", "OAUTH", "npm_config__auth",
			"authToken", "KEY2", "SESSION_COOKIE", "COOKIES", "HTTP_AUTHORIZATION", "MY_CREDENTIALS", "ssh_keys", "MONKEY"},
		"policy_environment_reserved": {"LD_PRELOAD", "ld_library_path", "HTTP_PROXY", "https_proxy", "NO_PROXY", "HOME", "home", "TMPDIR", "TEMP", "TMP", "DOTNET_CLI_HOME", "USER", "LOGNAME", "PWD"},
	} {
		for _, name := range names {
			if got := refusedVariable(name, "x"); got != variant {
				t.Errorf("%q: %q, want %q", name, got, variant)
			}
		}
	}
	for value, want := range map[string]string{
		"/usr/bin": "", "/opt/go/bin:/usr/bin:/bin": "", "": "policy_environment_path", "/usr/bin:": "policy_environment_path", ":/usr/bin": "policy_environment_path",
		"bin": "policy_environment_path", "/usr/../bin": "policy_environment_path", ".:/usr/bin": "policy_environment_path", "\x00": "policy_environment_value",
		strings.Repeat("/", maxTextBytes+1): "policy_environment_value",
	} {
		if got := refusedVariable("PATH", value); got != want {
			t.Errorf("PATH=%.20q: %q, want %q", value, got, want)
		}
	}
}
