package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/yamltree"
)

// proves A-OLL-09
func TestHeaderValueFile(t *testing.T) {
	yaml := "schema_version: 2\nollama: {endpoint: ENDPOINT, header_value_file: key}\n"
	for _, tt := range []struct {
		name, endpoint string
		mode           os.FileMode
		want           string // locale key of the only error, or ""
	}{
		{"private over https", "https://gpu.example", 0o600, ""},
		{"private over loopback", "http://127.0.0.1:1", 0o600, ""},
		{"private over loopback name", "http://localhost:1", 0o400, ""},
		{"private over IPv6 loopback", "'http://[::1]:1'", 0o600, ""},
		{"plain http", "http://gpu.example", 0o600, "config.ollama.plain_http_header"},
		{"readable by the group", "https://gpu.example", 0o640, "config.file.not_private"},
		{"readable by others", "https://gpu.example", 0o604, "config.file.not_private"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			places := place(t, strings.Replace(yaml, "ENDPOINT", tt.endpoint, 1), "")
			key := filepath.Join(filepath.Dir(places.Config), "key")
			put(t, key, "Bearer x")
			if err := os.Chmod(key, tt.mode); err != nil {
				t.Fatal(err)
			}
			l, p := Load(places)
			var got string
			for _, e := range p.Errors {
				got += e.Text.Key
			}
			if got != tt.want {
				t.Errorf("got %q, want %q\n%s", got, tt.want, report(t, p, l.Locale, places))
			}
		})
	}
}

// proves A-CFG-01
func TestPromptFile(t *testing.T) {
	for _, tt := range []struct {
		name, content string
		want          string
	}{
		{"good", "be kind", ""},
		{"largest", strings.Repeat("a", maxPromptBytes), ""},
		{"too large", strings.Repeat("a", maxPromptBytes+1), "config.file.too_large"},
		{"not UTF-8", "a\xff", "config.file.not_utf8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			places := place(t, "schema_version: 2\nagent: {user_system_prompt: p.md}\n", "")
			put(t, filepath.Join(filepath.Dir(places.Config), "p.md"), tt.content)
			l, p := Load(places)
			got := ""
			if len(p.Errors) > 0 {
				got = p.Errors[0].Text.Key
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if tt.want == "" && l.Config.Agent.UserSystemPromptText != tt.content {
				t.Error("the content was not read")
			}
		})
	}
	t.Run("default beside the executable", func(t *testing.T) {
		places := place(t, "schema_version: 2\n", "")
		put(t, filepath.Join(filepath.Dir(places.Executable), "prompts", "user-system.md"), "hello")
		l, _ := Load(places)
		if l.Config.Agent.UserSystemPromptText != "hello" {
			t.Errorf("got %+v", l.Config.Agent)
		}
	})
}

// proves A-CFG-01
func TestUnreadableFiles(t *testing.T) {
	places := place(t, "schema_version: 2\n", "")
	missing := places
	missing.Config = filepath.Join(filepath.Dir(places.Config), "other.yaml")
	l, p := Load(missing)
	want := "DIR/conf/other.yaml: error: There is no file or directory DIR/conf/other.yaml.\n"
	if diff := cmp.Diff(want, report(t, p, l.Locale, missing)); diff != "" {
		t.Errorf("missing file:\n%s", diff)
	}
	overlay := filepath.Join(filepath.Dir(places.Config), OverlayName)
	if err := os.Symlink("gone", overlay); err != nil {
		t.Fatal(err)
	}
	if _, p := Load(places); p.Err() == nil {
		t.Error("an overlay that cannot be read was ignored")
	}
	if err := os.Remove(overlay); err != nil {
		t.Fatal(err)
	}
	put(t, places.Config, strings.Repeat("#", yamltree.MaxBytes+1))
	if _, p := Load(places); len(p.Errors) != 1 || p.Errors[0].Text.Key != "config.file.too_large" {
		t.Errorf("too large: %+v", p.Errors)
	}
}
