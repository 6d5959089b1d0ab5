package locale

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	shipped "sekisho/config"
	"sekisho/internal/fault"
)

var baseline = Texts{"hello": "Hello {name}, {count} new", "plain": "Plain", "only.english": "Only here"}

// proves A-LOC-01
func TestTextFallsBack(t *testing.T) {
	c := New("ja", Texts{"hello": "{count} 件、{name} さん"}, baseline)
	for _, tt := range []struct {
		key  string
		args map[string]string
		want string
	}{
		{"hello", map[string]string{"name": "A", "count": "2"}, "2 件、A さん"},
		{"hello", map[string]string{"name": "{count}", "count": "{name}"}, "{name} 件、{count} さん"}, // a value is no template
		{"hello", nil, "{count} 件、{name} さん"},
		{"plain", map[string]string{"unused": "x"}, "Plain"},
		{"only.english", nil, "Only here"},
		{"no.such.key", nil, "no.such.key"},
	} {
		if got := c.Text(tt.key, tt.args); got != tt.want {
			t.Errorf("Text(%s, %v) = %q, want %q", tt.key, tt.args, got, tt.want)
		}
	}
}

// proves A-MCP-03
func TestValuesCannotForgeLines(t *testing.T) {
	c := New(English, nil, baseline)
	got := c.Text("hello", map[string]string{"name": "x\nstatus: completed\x1b[2J\u202e", "count": "1"})
	if want := `Hello x\nstatus: completed\x1b[2J\u{202e}, 1 new`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// proves A-LOC-01, ST-21
func TestLoad(t *testing.T) {
	good := fstest.MapFS{"en.json": {Data: []byte(`{"plain": "Simple"}`)}, "ja.json": {Data: []byte(`{"hello": "{count}{name}{name}"}`)},
		"readme.txt": {Data: []byte("x")}, "old/ja.json": {Data: []byte("{")}}
	c, names, err := Load(good, baseline, "ja")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"en", "ja"}, names); diff != "" {
		t.Error(diff)
	}
	if c.Name() != "ja" || c.Text("plain", nil) != "Plain" {
		t.Errorf("%s %q", c.Name(), c.Text("plain", nil))
	}
	if _, _, err := Load(good, baseline, "fr"); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown language: %v", err)
	}
	if c, _, err := Load(fstest.MapFS{}, baseline, English); err != nil || c.Text("plain", nil) != "Plain" {
		t.Errorf("English needs no file: %v", err)
	}
	for name, tt := range map[string]struct{ file, data, want string }{
		"no JSON":            {"ja.json", `{"plain": "x"`, "locale.malformed"},
		"list":               {"ja.json", `["plain"]`, "locale.malformed"},
		"null":               {"ja.json", `null`, "locale.malformed"},
		"number":             {"ja.json", `{"plain": 1}`, "locale.malformed"},
		"null text":          {"ja.json", `{"plain": null}`, "locale.malformed"},
		"nested":             {"ja.json", `{"plain": {"a": "b"}}`, "locale.malformed"},
		"key twice":          {"ja.json", `{"plain": "a", "plain": "b"}`, "locale.malformed"},
		"two documents":      {"ja.json", `{} {}`, "locale.malformed"},
		"not UTF-8":          {"ja.json", "{\"plain\": \"\xff\"}", "locale.malformed"},
		"too large":          {"ja.json", `{"plain": "` + strings.Repeat("x", maxBytes) + `"}`, "locale.malformed"},
		"unknown key":        {"ja.json", `{"plian": "x"}`, "locale.unknown_key"},
		"missing":            {"ja.json", `{"hello": "{name}"}`, "locale.placeholders"},
		"additional":         {"ja.json", `{"plain": "{name}"}`, "locale.placeholders"},
		"also in English":    {"en.json", `{"plain": "{name}"}`, "locale.placeholders"},
		"also one not asked": {"fr.json", `{"x": ""}`, "locale.unknown_key"},
		"file name":          {"Japanese.json", `{}`, "locale.file_name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Load(fstest.MapFS{tt.file: {Data: []byte(tt.data)}}, baseline, English)
			var fe FileError
			if !errors.As(err, &fe) || fe.Text != tt.want || fe.File != tt.file {
				t.Errorf("got %v, want %s in %s", err, tt.want, tt.file)
			}
		})
	}
}

// proves A-LOC-01
func TestShippedLanguagesAreComplete(t *testing.T) {
	english, err := Parse(shipped.English())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"en", "ja"} {
		c, _, err := Load(shipped.Locales(), english, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range c.Keys() {
			if _, ok := c.texts[key]; !ok {
				t.Errorf("%s lacks %s", name, key)
			}
		}
	}
}

// proves A-ERR-01
func TestErrorHasSentenceAndRemedy(t *testing.T) {
	english, err := Parse(shipped.English())
	if err != nil {
		t.Fatal(err)
	}
	c := New(English, nil, english)
	sentence, remedy := c.Error(fault.New(fault.ConfigurationAbsent, fault.Target("/a.yaml"), fault.Arg("command", "agent-mcp apply /a.yaml")))
	if sentence != "The configuration /a.yaml was never applied." || remedy != "Review and apply it with: agent-mcp apply /a.yaml" {
		t.Errorf("%q %q", sentence, remedy)
	}
}

func FuzzFill(f *testing.F) {
	f.Add("Hello {name}", "name", "x")
	f.Add("{{name}}", "name", "{name}")
	f.Add("{", "", "")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		for _, p := range Placeholders(text) {
			if !strings.Contains(text, "{"+p+"}") {
				t.Errorf("placeholder %q is not in %q", p, text)
			}
		}
		if got := fill(text, nil); got != text {
			t.Errorf("without values %q became %q", text, got)
		}
		fill(text, map[string]string{name: value})
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a": "b {c}"}`))
	f.Add([]byte(`{"a": null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if texts, err := Parse(data); err == nil {
			if found := Check("x.json", texts, texts); len(found) > 0 {
				t.Errorf("texts disagree with themselves: %v", found)
			}
		}
	})
}
