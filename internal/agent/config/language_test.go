package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
)

// proves A-LOC-01, A-LOC-02, ST-21
func TestLanguageFiles(t *testing.T) {
	write := func(t *testing.T, files map[string]string, yaml string) (*Loaded, Problems, Places) {
		places := place(t, yaml, "")
		for name, content := range files {
			put(t, filepath.Join(filepath.Dir(places.Executable), "config", "locales", name), content)
		}
		l, p := Load(places)
		return l, p, places
	}
	t.Run("own language", func(t *testing.T) {
		l, p, places := write(t, map[string]string{"de.json": `{"message.status.queued": "Wartet."}`}, "schema_version: 2\napplication: {language: de}\n")
		if got := report(t, p, l.Locale, places); got != "" {
			t.Fatal(got)
		}
		if got := l.Locale.Text("message.status.queued", nil); got != "Wartet." {
			t.Errorf("own text: %q", got)
		}
		if got := l.Locale.Text("message.status.running", nil); got != CompiledIn("en").Text("message.status.running", nil) || got == "message.status.running" {
			t.Errorf("missing text falls back to English: %q", got)
		}
	})
	t.Run("every malformed file is fatal", func(t *testing.T) {
		l, p, places := write(t, map[string]string{
			"en.json": `{"show.runtime_root": "{root}"}`, "ja.json": `{`, "de.json": `{"no.such.key": "x", "message.status.queued": null}`,
			"fr.json": `{"no.such.key": "x", "apply.overlay": "{count}"}`, "README.json": `{}`, "notes.txt": "ignored",
		}, "schema_version: 2\n")
		got := report(t, p, l.Locale, places)
		for _, want := range []string{
			"DIR/bin/config/locales/README.json: error: The file's name must be a language name",
			"DIR/bin/config/locales/de.json: error: The language file cannot be used:",
			"DIR/bin/config/locales/en.json: error: The text show.runtime_root has the placeholders {root}, but English has {path}.",
			"DIR/bin/config/locales/fr.json: error: The text no.such.key is unknown",
			"DIR/bin/config/locales/fr.json: error: The text apply.overlay has the placeholders {count}, but English has {path}.",
			"DIR/bin/config/locales/ja.json: error: The language file cannot be used:",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("missing %q in:\n%s", want, got)
			}
		}
		if len(p.Errors) != 6 {
			t.Errorf("%d errors, want 6:\n%s", len(p.Errors), got)
		}
		if code := fault.CodeOf(p.Err()); code != fault.ConfigurationInvalid {
			t.Errorf("code %q", code)
		}
	})
	t.Run("a configured directory must exist", func(t *testing.T) {
		_, p, _ := write(t, nil, "schema_version: 2\nlocalization: {directory: nowhere}\n")
		if len(p.Errors) != 1 || p.Errors[0].Text.Key != "config.file.missing" {
			t.Errorf("%+v", p.Errors)
		}
	})
	t.Run("problems speak the configured language", func(t *testing.T) {
		l, p, places := write(t, nil, "schema_version: 2\napplication: {language: ja}\nplanner: {max_tasks: 0}\n")
		want := "DIR/conf/agent.yaml:3:22: エラー: planner.max_tasks: 0 は範囲外です。\n    使える値: 1 から 2147483647 までの整数\n"
		if diff := cmp.Diff(want, report(t, p, l.Locale, places)); diff != "" {
			t.Error(diff)
		}
	})
}
