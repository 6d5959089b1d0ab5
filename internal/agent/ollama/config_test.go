package ollama

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

// proves A-OLL-02, A-OLL-08, A-OLL-09
func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no scheme":              func(c *Config) { c.Endpoint = "localhost:11434" },
		"other scheme":           func(c *Config) { c.Endpoint = "ftp://h" },
		"user info":              func(c *Config) { c.Endpoint = "https://u:p@h" },
		"query":                  func(c *Config) { c.Endpoint = "https://h/?a=1" },
		"port":                   func(c *Config) { c.Endpoint = "https://h:70000" },
		"no model":               func(c *Config) { c.Model = "" },
		"model with newline":     func(c *Config) { c.Model = "a\nb" },
		"no think":               func(c *Config) { c.Think = nil },
		"think level":            func(c *Config) { c.Think = json.RawMessage(`"huge"`) },
		"keep_alive bare digits": func(c *Config) { c.KeepAlive = json.RawMessage(`"300"`) },
		"keep_alive bool":        func(c *Config) { c.KeepAlive = json.RawMessage(`true`) },
		"top_logprobs":           func(c *Config) { c.TopLogprobs = ptr(21) },
		"num_ctx":                func(c *Config) { c.Options.NumCtx = ptr(0) },
		"NaN":                    func(c *Config) { c.Options.TopP = ptr(math.NaN()) },
		"extra":                  func(c *Config) { c.Extra = map[string]json.RawMessage{"x": json.RawMessage(`{`)} },
		"header over plain http": func(c *Config) { c.Endpoint, c.HeaderValueFile = "http://10.0.0.1", "/k" },
		"header name":            func(c *Config) { c.HeaderName, c.HeaderValueFile = "a b", "/k" },
		"framing header":         func(c *Config) { c.HeaderName, c.HeaderValueFile = "content-length", "/k" },
	} {
		cfg := testConfig()
		change(&cfg)
		if _, err := New(cfg); fault.CodeOf(err) != fault.ConfigurationInvalid {
			t.Errorf("%s: got %v", name, err)
		} else if strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: the error repeats the user info: %v", name, err)
		}
	}
	for _, e := range []string{"http://localhost:11434", "http://[::1]:1/", "https://gpu.example/ollama/", "http://192.168.1.5:11434"} {
		cfg := testConfig()
		cfg.Endpoint = e
		if c, err := New(cfg); err != nil || strings.HasSuffix(c.set.base, "/") {
			t.Errorf("%s: %v", e, err)
		}
	}
}

// Every typed option is known by name; a new one cannot slip through extra_options.
//
// proves A-OLL-02
func TestTypedOptionsAreComplete(t *testing.T) {
	var names []string
	for f := range reflect.TypeFor[agent.OllamaOptions]().Fields() {
		names = append(names, strings.TrimSuffix(f.Tag.Get("json"), ",omitempty"))
	}
	got := slices.Sorted(slices.Values(typedOptions))
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("got %v, want %v", got, names)
	}
}
