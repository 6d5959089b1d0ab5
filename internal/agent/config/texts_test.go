package config

import (
	"regexp"
	"strings"
	"testing"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox/policy"
)

// A running server keeps what it started with: whoever is told to change the configuration because of a failure at run time
// is told to restart it too.
//
// proves A-ERR-01, A-CFG-04
func TestRemediesAtRunTimeThatChangeTheConfigurationNameTheRestart(t *testing.T) {
	atStart := regexp.MustCompile(`^remedy\.(configuration|preflight|recovery|state|process|resource\.memory_unenforceable|server\.address_unusable)`)
	names := regexp.MustCompile(`\b(agent|ollama|sandbox|limits|logging|mcp|planner)\.[a-z_]+|\bapply\b|適用`)
	for lang, restart := range map[string]string{"en": "restart", "ja": "再起動"} {
		c := CompiledIn(lang)
		for _, key := range c.Keys() {
			if text := c.Text(key, nil); strings.HasPrefix(key, "remedy.") && !atStart.MatchString(key) && names.MatchString(text) && !strings.Contains(text, restart) {
				t.Errorf("%s %s: %s", lang, key, text)
			}
		}
	}
}

// Every directory that no workspace may be is named to somebody who tried one of them.
//
// proves A-POL-02, A-ERR-01
func TestRefusedPlacesAreNamed(t *testing.T) {
	var refused []string
	for _, dir := range []string{"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var"} {
		_, err := policy.Compile(policy.SandboxPolicy{Profile: ProfileDevelopment, Workspaces: []policy.Directory{{Path: dir, Filesystem: "xfs"}}})
		if err != nil && strings.Contains(err.Error(), "policy_system_path") {
			refused = append(refused, dir)
		}
	}
	if len(refused) < 5 {
		t.Fatalf("refused are only %v", refused)
	}
	for _, lang := range []string{"en", "ja"} {
		_, remedy := CompiledIn(lang).Error(fault.New(fault.ConfigurationInvalid, fault.Variant("policy_system_path"), fault.Target("/x")))
		for _, dir := range refused {
			if !strings.Contains(remedy, dir) {
				t.Errorf("%s: %q does not name %s", lang, remedy, dir)
			}
		}
	}
}

// proves A-LOC-01
func TestJapaneseTextsAreSpacedAlike(t *testing.T) {
	c, english := CompiledIn("ja"), CompiledIn("en")
	for what, pattern := range map[string]string{
		"a space after full-width punctuation":        `[：、。（）「」！？] `,
		"a space before full-width punctuation":       ` [：、。（）「」！？]`,
		"no space between a number or Latin and Kana": `([A-Za-z0-9}])([ぁ-んァ-ヶー一-龠])|([ぁ-んァ-ヶー一-龠])([A-Za-z0-9{])`,
		"a half-width question or exclamation mark":   `[ぁ-んァ-ヶー一-龠][?!]`,
		"a half-width comma or stop between Japanese": `[ぁ-んァ-ヶー一-龠][,.]`,
		"half-width brackets around Japanese":         `\([^)]*[ぁ-んァ-ヶ一-龠]`,
		"a wave dash where the others have a tilde":   `〜`,
	} {
		re := regexp.MustCompile(pattern)
		for _, key := range c.Keys() {
			text := c.Text(key, nil)
			if m := re.FindString(text); m != "" && text != english.Text(key, nil) {
				t.Errorf("%s: %s has %s (%q)", key, text, what, m)
			}
		}
	}
}
