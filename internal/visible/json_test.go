package visible

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// proves A-AUD-01, A-LOG-02
func TestJSONHidesNothingAndKeepsTheData(t *testing.T) {
	for text, want := range map[string]string{
		"":                      ``,
		"plain é 日本 🙂":          `plain é 日本 🙂`,
		"\u0085\u009b\u007f":    `\u0085\u009b\u007f`,
		"a\u202eb\u2028c\u2029": `a\u202eb\u2028c\u2029`,
		"\u200b\ufeff\u3164":    `\u200b\ufeff\u3164`,
		"\U000e0041":            `\udb40\udc41`,
		"\\\u202e":              `\\\u202e`,
	} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(text); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(JSON(b.Bytes()))); got != `"`+want+`"` {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func checkJSON(t interface{ Errorf(string, ...any) }, text string) {
	raw := `{"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `":1}`
	if !json.Valid([]byte(raw)) || !utf8.ValidString(raw) {
		return
	}
	got := JSON([]byte(raw))
	var before, after map[string]int
	if json.Unmarshal([]byte(raw), &before) != nil || json.Unmarshal(got, &after) != nil {
		t.Errorf("%q became %q", raw, got)
		return
	}
	for key := range before {
		if after[key] != 1 {
			t.Errorf("%q became %q: other data", raw, got)
		}
	}
	for _, r := range string(got) {
		if hides(r) {
			t.Errorf("%q still holds %U", got, r)
		}
	}
}

// proves A-AUD-01
func TestJSONProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) { checkJSON(r, rapid.String().Draw(r, "text")) })
}

func FuzzJSON(f *testing.F) {
	f.Add("\u0085\U000e0041\\")
	f.Fuzz(func(t *testing.T, text string) { checkJSON(t, text) })
}
