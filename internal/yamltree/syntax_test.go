package yamltree

import "testing"

// proves A-CFG-01
func TestSyntaxMistakesAreExplained(t *testing.T) {
	for _, tt := range []struct {
		yaml         string
		key          string
		line, column int
	}{
		{"a:\n\tb: 1\n", "yaml.syntax.tab", 2, 1},
		{"a:\n  b: 1\n  \tc: 2\n", "yaml.syntax.tab", 3, 3},
		{"\ta: 1\n", "yaml.syntax.tab", 1, 1},
		{"a: |\n\tx\n", "yaml.syntax.tab", 2, 1},
		{"x: 1\na: \"x\nb: 1\nc: 2\n", "yaml.syntax.open_quote", 2, 4},
		{"a: 'x\nb: 1\n", "yaml.syntax.open_quote", 1, 4},
		{"a: \"x\nb: \"y\"\n", "yaml.syntax.open_quote", 1, 4},
		{"a: ['x, y]\nb: 'y'\n", "yaml.syntax.bracket", 2, 5},
		{"ok: 'it''s'\na: 'x # no comment\nc: 1\nb: 'y'\n", "yaml.syntax.open_quote", 2, 4},
		{`a: "C:\Users\me"` + "\n", "yaml.syntax.escape", 1, 9},
		{`a: "\q"` + "\n", "yaml.syntax.escape", 1, 5},
		{`a: "\u12"` + "\n", "yaml.syntax.escape", 1, 7},
		{"a: 'don't'\n", "yaml.syntax.after_quote", 1, 9},
		{"a: \"b\" c\n", "yaml.syntax.after_quote", 1, 8},
		{"a: [1, 2\nb: 1\n", "yaml.syntax.bracket", 2, 2},
		{"a: {b: 1\nc: 2\n", "yaml.syntax.bracket", 2, 2},
		{"a: @x\n", "yaml.syntax.character", 1, 4},
		{"a: b: c\n", "yaml.syntax.colon", 1, 5},
		{"a:\n b: 1\n  c: 2\n", "yaml.syntax.colon", 3, 4},
		{"a: 1\nb\nc: 2\n", "yaml.syntax.no_colon", 2, 1},
		{"- a\nb: 1\n", "yaml.syntax.indentation", 2, 1},
		{"a: *x\n", "yaml.alias", 1, 4},
		{"a: ]\n", "yaml.syntax", 1, 4},
	} {
		n, problems := Parse("f", []byte(tt.yaml))
		if n != nil || len(problems) != 1 {
			t.Errorf("%q: %v", tt.yaml, problems)
			continue
		}
		if p := problems[0]; p.Text.Key != tt.key || p.Pos.Line != tt.line || p.Pos.Column != tt.column {
			t.Errorf("%q: got %s at %d:%d, want %s at %d:%d", tt.yaml, p.Text.Key, p.Pos.Line, p.Pos.Column, tt.key, tt.line, tt.column)
		}
	}
}
