package policy

import (
	"maps"
	"path"
	"slices"
	"strings"

	"sekisho/internal/fault"
)

// Bounds of literal variables. The kernel takes at most 128 KiB for one string.
const (
	maxVariables = 256
	maxNameBytes = 128
	maxTextBytes = 32 << 10
)

// credentialWords end the words of names that look like a credential's (A-SBX-08).
var credentialWords = []string{"TOKEN", "SECRET", "PASSWORD", "KEY", "AUTH", "COOKIE", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTHORIZATION"}

// reservedNames are what only the backend says: where the task's directories are and who its user is.
var reservedNames = []string{"HOME", "TMPDIR", "TEMP", "TMP", "DOTNET_CLI_HOME", "USER", "LOGNAME", "PWD", "OLDPWD"}

// environment checks literal variables (A-SBX-08) and returns a copy. field is the key inside the section's item that holds
// the map, or "".
func (c *compiler) environment(vars map[string]string, s Section, index int, field string) map[string]string {
	at := func(name string) string {
		if field == "" {
			return name
		}
		return field + "." + name
	}
	if len(vars) > maxVariables {
		c.invalid(s, index, field, "policy_environment_value", fault.Arg("value", field))
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if variant := refusedVariable(name, vars[name]); variant != "" {
			c.invalid(s, index, at(name), variant, fault.Arg("value", name))
		}
	}
	return maps.Clone(vars)
}

// refusedVariable is the variant of configuration.invalid that says why a variable is not set, or "".
func refusedVariable(name, value string) string {
	upper := strings.ToUpper(name)
	switch {
	case !variableName(name):
		return "policy_environment_name"
	case strings.HasPrefix(upper, "LD_"), strings.HasSuffix(upper, "_PROXY"), slices.Contains(reservedNames, upper):
		return "policy_environment_reserved"
	case credential(name):
		return "policy_environment_credential"
	case len(value) > maxTextBytes || strings.ContainsRune(value, 0):
		return "policy_environment_value"
	case name == "PATH" && !searchPath(value):
		return "policy_environment_path"
	}
	return ""
}

// variableName is the portable form: letters, digits and "_", no digit first.
func variableName(name string) bool {
	if name == "" || len(name) > maxNameBytes || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// credential tells whether a word of name, cut at "_", digits and before a capital that follows a small letter, ends with
// one of credentialWords, one of them or several: GITHUB_TOKEN, PGPASSWORD, npm_config__auth and authKeys do, GIT_AUTHOR_NAME
// and TOKENIZERS_PARALLELISM do not. What merely sounds alike (MONKEY) is refused, too.
func credential(name string) bool {
	return slices.ContainsFunc(words(name), func(word string) bool {
		word = strings.ToUpper(word)
		return slices.ContainsFunc(credentialWords, func(end string) bool {
			return strings.HasSuffix(word, end) || strings.HasSuffix(word, end+"S")
		})
	})
}

func words(name string) []string {
	var out []string
	start, before := 0, rune('_')
	for i, r := range name {
		small, capital := before >= 'a' && before <= 'z', r >= 'A' && r <= 'Z'
		if small && capital || r == '_' || r >= '0' && r <= '9' {
			out = append(out, name[start:i])
			start = i
			if !capital {
				start = i + 1
			}
		}
		before = r
	}
	return append(out, name[start:])
}

// searchPath accepts absolute clean directories only: an empty or relative one would be the working directory.
func searchPath(value string) bool {
	return !slices.ContainsFunc(strings.Split(value, ":"), func(dir string) bool { return !path.IsAbs(dir) || path.Clean(dir) != dir })
}
