package ask

import (
	"testing"
)

// proves R-INT-08
func TestLiteral(t *testing.T) {
	for in, want := range map[string]string{
		"plain":           "plain",
		"a\tb\r":          `a\tb\r`,
		"\x1b[31m":        `\x1b[31m`,
		"a\u00a0b\u3000c": `a\u{00a0}b\u{3000}c`,
		"\u200b\u2066x":   `\u{200b}\u{2066}x`,
		`back\slash`:      `back\\slash`,
		"\xff":            `\xff`,
		"日本語":             "日本語",
	} {
		if got := literal(in); len(got.Lines) != 1 || got.Lines[0] != want || got.Bytes != len(in) {
			t.Errorf("%q: %v", in, got)
		}
	}
	if got := literal("a\nb\n"); len(got.Lines) != 3 || got.Lines[2] != "" {
		t.Errorf("%v", got)
	}
}

// proves R-INT-08
func TestHosts(t *testing.T) {
	for in, want := range map[string]Host{
		"example.com":      {Shown: "example.com"},
		"bücher.example":   {Shown: "xn--bcher-kva.example", Unicode: "bücher.example"},
		"münchen":          {Shown: "xn--mnchen-3ya", Unicode: "münchen"},
		"例え.テスト":           {Shown: "xn--r8jz45g.xn--zckzah", Unicode: "例え.テスト"},
		"[::1]":            {Shown: "[::1]"},
		"a b\x1b":          {Shown: `a b\x1b`},
		"\u202emoc.\u0430": {Shown: "xn--moc-4q0a.xn--80a", Unicode: `\u{202e}moc.а`},
	} {
		if got := host(in); got != want {
			t.Errorf("%q: %+v", in, got)
		}
	}
}
