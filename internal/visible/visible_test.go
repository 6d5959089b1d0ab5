package visible

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain":         "plain",
		"日本語":           "日本語",
		"a\nb\tc\rd":    `a\nb\tc\rd`,
		`a\nb`:          `a\\nb`,
		"\x1b[31m":      `\x1b[31m`,
		"x\u202ey":      `x\u{202e}y`,
		"z\u200bw":      `z\u{200b}w`,
		"\xff":          `\xff`,
		"\u2028":        `\u{2028}`,
		"\u3164":        `\u{3164}`,
		"\u0085":        `\u{0085}`,
		"tag\U000e0041": `tag\u{e0041}`,
		"rm\u2800-rf":   `rm\u{2800}-rf`,
		"a\U0001d159b":  `a\u{1d159}b`,
		"a\ufffcb":      `a\u{fffc}b`,
		"\u115f\u1160\u034f\u17b4\u17b5\uffa0\u2065\ufff0\ufe0f\u180b\U00016fe4\ufffe": `\u{115f}\u{1160}\u{034f}\u{17b4}\u{17b5}\u{ffa0}\u{2065}\u{fff0}\u{fe0f}\u{180b}\u{16fe4}\u{fffe}`,
		"é\u0301한글\ufffd": "é\\u{0301}한글\ufffd",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLineCutsAtWholeEscapes(t *testing.T) {
	if got, want := Line("aaaa\nbbbb", 7), "aaaa…"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
	if got, want := Line("short", 5), "short"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
	if got := Line("abc", 2); got != "" {
		t.Errorf("Line = %q, want empty", got)
	}
}

func TestClipLeavesEscapesAsTheyAre(t *testing.T) {
	if got, want := Clip(Escape("C:\\x\ny")+"\n\u202e", 100), `C:\\x\ny\n\u{202e}`; got != want {
		t.Errorf("Clip = %q, want %q", got, want)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\u202e\n", 4)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = int(uint(limit) % 1000)
		got := Line(s, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\t\x1b\u202e") {
			t.Errorf("Line(%q, %d) = %q", s, limit, got)
		}
		if got := Clip(s, limit); len(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\t\x1b\u202e") {
			t.Errorf("Clip(%q, %d) = %q", s, limit, got)
		}
	})
}
