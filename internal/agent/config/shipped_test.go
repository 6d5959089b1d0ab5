package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	shipped "sekisho/config"
	"sekisho/internal/agent"
	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/test/product"
)

// place writes agent.yaml (and an overlay when over is not "") into a fresh directory.
func place(t *testing.T, base, over string) Places {
	t.Helper()
	dir := product.Dir(t) // not in /tmp, where no root can be declared through a link
	put(t, filepath.Join(dir, "conf", "agent.yaml"), base)
	if over != "" {
		put(t, filepath.Join(dir, "conf", OverlayName), over)
	}
	put(t, filepath.Join(dir, "bin", "agent-mcp"), "")
	return Places{Config: filepath.Join(dir, "conf", "agent.yaml"), Executable: filepath.Join(dir, "bin", "agent-mcp"), StateRoot: filepath.Join(dir, "state"),
		CacheRoot: filepath.Join(dir, "cache")}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// report renders problems in English with the directory of places shortened.
func report(t *testing.T, p Problems, c *locale.Catalogue, places Places) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), filepath.Dir(filepath.Dir(places.Config)), "DIR")
}

// proves A-CFG-01, A-CFG-06
func TestShippedFileHasNoProblemsAndEqualsTheDefaults(t *testing.T) {
	places := place(t, string(shipped.AgentYAML()), "")
	l, p := Load(places)
	if got := report(t, p, l.Locale, places); got != "" {
		t.Errorf("the shipped file has problems:\n%s", got)
	}
	minimal := place(t, "schema_version: 2\n", "")
	minimal.StateRoot = places.StateRoot
	d, p := Load(minimal)
	if got := report(t, p, d.Locale, minimal); got != "" {
		t.Fatalf("a file with schema_version only has problems:\n%s", got)
	}
	if diff := cmp.Diff(d.Config, l.Config); diff != "" {
		t.Errorf("shipped values differ from the defaults (-default +shipped):\n%s", diff)
	}
}

// proves A-CFG-01
func TestShippedFileMentionsEveryKey(t *testing.T) {
	text := string(shipped.AgentYAML())
	for _, key := range Keys() {
		name := key[strings.LastIndexByte(key, '.')+1:]
		if !strings.Contains(text, " "+name+":") && !strings.Contains(text, "\n"+name+":") {
			t.Errorf("config/agent.yaml does not mention %s", key)
		}
	}
}

// The commented examples must be true: with their "#" taken away the file still has no error but those that name what is
// missing here.
func TestShippedExamplesAreValid(t *testing.T) {
	var lines []string
	for line := range strings.Lines(string(shipped.AgentYAML())) {
		trimmed := strings.TrimLeft(line, " ")
		if rest, ok := strings.CutPrefix(trimmed, "# "); ok {
			bare := strings.TrimLeft(rest, " -")
			name, _, found := strings.Cut(bare, ":")
			if found && isKeyName(name) && name != "access" || strings.HasPrefix(rest, "- ") || strings.HasPrefix(rest, "  access:") {
				line = line[:len(line)-len(trimmed)] + rest
			}
		}
		lines = append(lines, line)
	}
	text := strings.Join(lines, "")
	// Lists are given as [] with their example below.
	for _, list := range []string{"workspaces: []", "mounts: []", "entries: []", "local_endpoints: []", "restricted_endpoints: []"} {
		text = strings.Replace(text, list, strings.TrimSuffix(list, " []"), 1)
	}
	places := place(t, text, "")
	l, p := Load(places)
	for _, e := range p.Errors {
		switch e.Path {
		case "agent.user_system_prompt", "ollama.header_value_file", "localization.directory": // files that do not exist here
		case "skills.directory": // comes later
			if e.Code != fault.FeatureUnavailable {
				t.Errorf("%s: code %q", e.Path, e.Code)
			}
		case "sandbox.network.local_endpoints", "sandbox.network.restricted_endpoints": // examples of modes not chosen
		default:
			t.Errorf("example of %s: %s", e.Path, l.Locale.Text(e.Text.Key, e.Text.Args))
		}
	}
	if got := l.Config.Sandbox; len(got.Workspaces) != 1 || len(got.Mounts) != 1 || len(got.Entries) != 1 {
		t.Errorf("examples were not uncommented: %+v\n%s", got, text)
	}
	if l.Config.Ollama.Options.NumThread == nil {
		t.Error("the options' examples were not uncommented")
	}
}

func isKeyName(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return s != ""
}

// proves A-OLL-02
func TestEveryTypedOptionIsAKey(t *testing.T) {
	keys := Keys()
	typ := reflect.TypeFor[agent.OllamaOptions]()
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		found := false
		for _, k := range keys {
			found = found || k == "ollama.options."+name
		}
		if !found {
			t.Errorf("ollama.options.%s is not read", name)
		}
	}
}
