package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/config"
	"sekisho/internal/fault"
	"sekisho/internal/locale"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, in string
		want     Set
		problems []string // line:column key: locale key
	}{
		{name: "both kinds", in: "selected: build\nprofiles:\n  local: {}\n  build:\n    endpoint: wss://build.example:8443/x\n    token_file: /t\n    local_root: /w\n    server_root: 'C:\\w'\n",
			want: Set{[]Profile{{Name: "local", LocalRoot: "/cwd", ServerRoot: "/cwd", Enabled: true},
				{Name: "build", Endpoint: "wss://build.example:8443/x", TokenFile: "/t", LocalRoot: "/w", ServerRoot: `C:\w`}}, "build"}},
		{name: "local by default", in: "profiles:\n  a: {endpoint: ws://127.0.0.1:1, local_root: /w, server_root: /s, enabled: true}\n  local: {codex: /c, local_root: /w}\n",
			want: Set{[]Profile{{Name: "a", Endpoint: "ws://127.0.0.1:1", LocalRoot: "/w", ServerRoot: "/s", Enabled: true},
				{Name: "local", Codex: "/c", LocalRoot: "/w", ServerRoot: "/w", Enabled: true}}, "local"}},
		{name: "all errors at once", in: "selected: none\nprofile: 1\nprofiles:\n  a b:\n    local_root: here\n  r:\n    endpoint: ws://build.example\n    codex: /c\n    server_root: x\n    enabled: maybe\n  l:\n    token_file: /t\n    enabled: false\n",
			problems: []string{"1:11 selected: profile.no_such", "2:1 profile: yaml.unknown_key", "5:5 profiles.a b: profile.name", "5:17 profiles.a b.local_root: profile.not_absolute",
				"7:5 profiles.r.local_root: yaml.required", "7:15 profiles.r.endpoint: profile.endpoint", "8:12 profiles.r.codex: profile.local_only",
				"9:18 profiles.r.server_root: profile.not_absolute", "10:14 profiles.r.enabled: yaml.wrong_type", "12:17 profiles.l.token_file: profile.remote_only",
				"13:14 profiles.l.enabled: profile.local_enabled"}},
		{name: "credentials", in: "profiles:\n  r: {endpoint: 'wss://me:hunter2@h', local_root: /w, server_root: /s}\n", problems: []string{"2:17 profiles.r.endpoint: profile.endpoint"}},
		{name: "empty", in: "", problems: []string{"1:1 profiles: yaml.required"}},
		{name: "none", in: "profiles: {}\n", problems: []string{"1:11 profiles: profile.none"}},
		{name: "twice", in: "profiles:\n  a: {}\n  a: {}\n", problems: []string{"3:3 profiles.a: yaml.duplicate_key"}},
	}
	english, err := locale.Parse(shipped.English())
	if err != nil {
		t.Fatal(err)
	}
	texts := locale.New(locale.English, english, english)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, problems := parse("p.yaml", []byte(tt.in), "/cwd")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			var found []string
			for _, p := range problems {
				found = append(found, fmt.Sprintf("%d:%d %s: %s", p.Pos.Line, p.Pos.Column, p.Path, p.Text.Key))
				if !texts.Has(p.Text.Key) || p.Accepted.Key != "" && !texts.Has(p.Accepted.Key) {
					t.Errorf("no text for %v", p)
				}
			}
			if diff := cmp.Diff(tt.problems, found); diff != "" {
				t.Error(diff)
			}
			var b strings.Builder
			if err := problems.Write(&b, texts); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "hunter2") {
				t.Errorf("the password is quoted: %s", b.String())
			}
		})
	}
}

// proves R-CLI-01
func TestLoadIsUserOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profiles.yaml")
	set, _, err := Load(path, "/cwd")
	if err != nil || set.Selected != Local || set.Profiles[0].LocalRoot != "/cwd" {
		t.Fatalf("without a file: %+v, %v", set, err)
	}
	for mode, want := range map[os.FileMode]fault.Code{0o600: "", 0o640: fault.ProfileInvalid, 0o604: fault.ProfileInvalid} {
		if err := os.WriteFile(path, []byte("profiles: {x: {}}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Load(path, "/cwd"); fault.CodeOf(err) != want {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, _, err := Load(filepath.Dir(path), "/cwd"); fault.CodeOf(err) != fault.ProfileInvalid {
		t.Errorf("a directory: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("selected: a\nprofiles:\n  a: {endpoint: wss://h, local_root: /w, server_root: /s, enabled: true}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, problems := parse("p", data, "/cwd")
		if len(problems) > 0 {
			return
		}
		if _, ok := set.Find(set.Selected); !ok {
			t.Errorf("%q selects %q, which is none of %v", data, set.Selected, set.Profiles)
		}
		for _, p := range set.Profiles {
			if p.Remote() && check(p.Endpoint) != nil {
				t.Errorf("%q: endpoint %q", data, p.Endpoint)
			}
		}
	})
}

// The example of the documentation is a file that works.
//
// proves R-CLI-01
func TestTheDocumentedFile(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "profiles.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```yaml\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/profiles.md has no example")
	}
	got, problems := parse("profiles.yaml", []byte(example), "/cwd")
	want := Set{[]Profile{{Name: "project", Codex: "/opt/codex/bin/codex", LocalRoot: "/home/me/project", ServerRoot: "/home/me/project", Enabled: true},
		{Name: "build", Endpoint: "wss://build.example:8443", TokenFile: "/home/me/.config/relaycodex/build.token", CAFile: "/home/me/ca.pem",
			LocalRoot: "/home/me/project", ServerRoot: "/srv/project", Enabled: true}}, "project"}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
		t.Error(diff, problems)
	}
}
