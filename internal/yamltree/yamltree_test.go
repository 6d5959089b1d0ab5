package yamltree

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lines renders problems as "line:column path key".
func lines(ps []Problem) []string {
	var out []string
	for _, p := range ps {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d:%d %s %s", p.Pos.Line, p.Pos.Column, p.Path, p.Text.Key)))
	}
	return out
}

// proves A-CFG-01
func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"duplicate key", "a: 1\nb:\n  c: 1\n  c: 2\na: 3\n", []string{"4:3 b.c yaml.duplicate_key", "5:1 a yaml.duplicate_key"}},
		{"anchor and alias", "a: &x [1]\nb: *x\n", []string{"1:4 a yaml.anchor", "2:4 b yaml.alias"}},
		{"anchored key", "&k a: 1\n", []string{"1:1  yaml.alias"}},
		{"alias bomb", "a: &a [x]\nb: &b [*a, *a]\n", []string{"1:4 a yaml.anchor", "2:4 b yaml.anchor", "2:8 b[0] yaml.alias", "2:12 b[1] yaml.alias"}},
		{"merge key", "a: {<<: {b: 1}}\n", []string{"1:5 a yaml.merge_key"}},
		{"tags", "a: !!binary aGk=\nb: !foo x\nc: !!str 5\n", []string{"1:4 a yaml.tag", "2:4 b yaml.tag", "3:4 c yaml.tag"}},
		{"number as key", "1: a\n", []string{"1:1  yaml.key_not_text"}},
		{"true as key", "true: a\n", []string{"1:1  yaml.key_not_text"}},
		{"list as key", "? [a]\n: 1\n", []string{"1:3  yaml.key_not_text"}},
		{"empty key", "'': 1\n", []string{"1:1  yaml.key_not_text"}},
		{"two documents", "a: 1\n---\nb: 2\n", []string{"3:1  yaml.several_documents"}},
		{"list", "- a\n", []string{"1:1  yaml.not_a_map"}},
		{"scalar", "a\n", []string{"1:1  yaml.not_a_map"}},
		{"syntax", "a: \"x", []string{"1:6  yaml.syntax"}},
		{"tab", "a:\n\tb: 2\n", []string{"2:1  yaml.syntax"}},
		{"not UTF-8", "a: 1\nb: é\xff\n", []string{"2:5  yaml.not_utf8"}},
		{"UTF-16", "\xff\xfea\x00:\x00", []string{"1:1  yaml.not_utf8"}},
		{"depth", strings.Repeat("[", 2*MaxDepth) + strings.Repeat("]", 2*MaxDepth), nil},
		{"size", "a: " + strings.Repeat("x", MaxBytes), []string{"0:0  yaml.too_large"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, ps := Parse("f", []byte(tt.in))
			if n != nil || len(ps) == 0 {
				t.Fatalf("accepted: %+v", n)
			}
			if tt.want == nil {
				if !slices.ContainsFunc(ps, func(p Problem) bool { return p.Text.Key == "yaml.too_deep" }) {
					t.Errorf("got %q", lines(ps))
				}
				return
			}
			if diff := cmp.Diff(tt.want, lines(ps)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	for _, in := range []string{"", "\n", "# only a note\n", "\ufeff# note\n", "---\n", "~\n"} {
		n, ps := Parse("f", []byte(in))
		if len(ps) > 0 || n.Kind != Map || len(n.Entries) != 0 {
			t.Errorf("%q: %+v, %q", in, n, lines(ps))
		}
	}
	n, ps := Parse("f", []byte("\ufeff日本: [1, 0x1, .5, yes, true, ~, 2001-01-01, 'x']\nb: |\n  line\n"))
	if len(ps) > 0 {
		t.Fatal(lines(ps))
	}
	var kinds []Kind
	for _, i := range n.Get("日本").Items {
		kinds = append(kinds, i.Kind)
	}
	if diff := cmp.Diff([]Kind{Int, Int, Float, String, Bool, Null, String, String}, kinds); diff != "" {
		t.Error(diff)
	}
	if got := n.Get("b").Text; got != "line\n" {
		t.Errorf("block text %q", got)
	}
	if got, want := n.At("日本[3]"), (Pos{"f", 1, 18}); got != want {
		t.Errorf("columns count characters: %v, want %v", got, want)
	}
}

// proves A-CFG-02
func TestMerge(t *testing.T) {
	parse := func(file, s string) *Node {
		n, ps := Parse(file, []byte(s))
		if len(ps) > 0 {
			t.Fatal(lines(ps))
		}
		return n
	}
	base := parse("base", "a: {b: 1, c: [1, 2], d: {e: 1}}\nf: x\ng: {h: 1}\ni: [1]\n")
	over := parse("over", "a:\n  c: [3]\n  d: {z: 2}\nf:\ng:\ni: {j: 1}\nk: 1\n")
	before := string(base.Canonical())
	got := Merge(base, over)
	want := parse("want", "a: {b: 1, c: [3], d: {e: 1, z: 2}}\nf:\ng: {h: 1}\ni: {j: 1}\nk: 1\n")
	if diff := cmp.Diff(string(want.Canonical()), string(got.Canonical())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if string(base.Canonical()) != before {
		t.Error("the base was changed")
	}
	for path, want := range map[string]Pos{
		"a.b": {"base", 1, 5}, "a.c": {"over", 2, 3}, "a.c[0]": {"over", 2, 7}, "a.d.e": {"base", 1, 26}, "a.d.z": {"over", 3, 7},
		"f": {"over", 4, 1}, "g.h": {"base", 3, 5}, "k": {"over", 7, 1}, "k.none": {"over", 7, 1}, "a.c[9]": {"over", 2, 3},
	} {
		if got := got.At(path); got != want {
			t.Errorf("At(%s) = %v, want %v", path, got, want)
		}
	}
}

func TestReaderCollectsEverything(t *testing.T) {
	n, ps := Parse("f", []byte(`i: 1.5
big: 99999999999999999999
octal: 010
f: 1e999
neg: -0.5
b: True
s: 12
e: c
l: {}
m: []
items: [a, ~, 3]
free: {X: 1, 'y z': t}
gone: ~
sub: {knwon: 1, known: 2, knоwn: 3}
`))
	if len(ps) > 0 {
		t.Fatal(lines(ps))
	}
	r := NewReader(n)
	root := r.Root().Section()
	root.Key("i").Int(0, 0, 9)
	root.Key("big").Int(0, 0, math.MaxInt64)
	root.Key("octal").Int(0, 0, 99)
	root.Key("f").Float(0, Range{Min: math.Inf(-1), Max: math.Inf(1)})
	root.Key("neg").Float(0, Range{Min: 0, Max: 1})
	root.Key("b").Bool(false)
	root.Key("s").Text("")
	root.Key("e").Enum("a", "a", "b")
	root.Key("l").List()
	root.Key("m").Section().Key("x")
	for _, i := range root.Key("items").List() {
		i.Text("")
	}
	var names []string
	for _, f := range root.Key("free").Free() {
		names = append(names, f.Name+"@"+f.Value.Path())
	}
	if got := root.Key("gone").Text("default"); got != "default" {
		t.Errorf("null is absent: %q", got)
	}
	root.Key("needed").Required("x", "y")
	sub := root.Key("sub").Section()
	sub.Key("known").Int(0, 0, 9)
	sub.Done()
	root.Done()
	want := []string{
		"1:1 needed yaml.required", "1:4 i yaml.wrong_type", "2:6 big yaml.out_of_range", "3:8 octal yaml.wrong_type", "4:4 f yaml.wrong_type",
		"5:6 neg yaml.out_of_range", "6:4 b yaml.wrong_type", "7:4 s yaml.wrong_type", "8:4 e yaml.not_allowed", "9:4 l yaml.wrong_type",
		"10:4 m yaml.wrong_type", "11:12 items[1] yaml.empty_item", "11:15 items[2] yaml.wrong_type", "14:7 sub.knwon yaml.unknown_key",
		"14:27 sub.knоwn yaml.unknown_key_characters",
	}
	if diff := cmp.Diff(want, lines(r.Problems())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"X@free.X", "y z@free.y z"}, names); diff != "" {
		t.Error(diff)
	}
	for _, p := range r.Problems()[len(want)-2:] {
		if p.Nearest != "sub.known" {
			t.Errorf("%s: nearest %q", p.Path, p.Nearest)
		}
	}
	if got := r.Problems()[len(want)-1].Text.Args["characters"]; got != "U+043E" {
		t.Errorf("characters %q", got)
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"model", "mode", "keep_alive", "endpoint", "workspaces", "mounts"}
	for in, want := range map[string]string{"modle": "model", "MODEL": "model", "keepalive": "keep_alive", "keep-alive": "keep_alive", "endpont": "endpoint",
		"workspace": "workspaces", "xyz": "", "zzzzzzzzzz": "", "": "", "m": ""} {
		if got := Nearest(in, keys); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNearestIsSymmetricDistance(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("abé")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if x, y := distance(a, b, 99), distance(b, a, 99); x != y || (x == 0) != (a == b) {
			t.Fatalf("distance(%q, %q) = %d, the other way %d", a, b, x, y)
		}
	})
}

func TestCanonical(t *testing.T) {
	canon := func(s string) string {
		n, ps := Parse("f", []byte(s))
		if len(ps) > 0 {
			t.Fatal(lines(ps))
		}
		return string(n.Canonical())
	}
	for _, same := range [][2]string{
		{"a: 1\nb: 'x'\n", "b: \"x\" # note\na: 1\n"}, {"a:\n", "a: ~\n"}, {"a: [x, {b: 1}]\n", "a:\n- x\n- b: 1\n"},
	} {
		if canon(same[0]) != canon(same[1]) {
			t.Errorf("%q and %q differ", same[0], same[1])
		}
	}
	for _, other := range [][2]string{
		{"a: 1\n", "a: '1'\n"}, {"a: true\n", "a: 'true'\n"}, {"a: [x, y]\n", "a: [y, x]\n"}, {"a: []\n", "a: {}\n"}, {"a: 1\n", "a: 1\nb:\n"},
		{"a: ['x,s\"y']\n", "a: [x, y]\n"}, {"a: ''\n", "a:\n"},
	} {
		if canon(other[0]) == canon(other[1]) {
			t.Errorf("%q and %q are taken for equal", other[0], other[1])
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1\n", "a: &x [*x]\n", "<<: {a: 1}\n", "a: !!binary x\n", "? {a: b}\n: c\n", "a: 1\n---\nb: 1\n", "%YAML 1.1\n---\n", "a: |\n x\n",
		"[[[[{{{{", "\ufeffa: 1", "a: \"\\x00\"\n", "{a, b}", "- - - a", "a: >-\n\n x\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, ps := Parse("f", data)
		if (n == nil) != (len(ps) > 0) {
			t.Fatalf("node %v with problems %q", n, lines(ps))
		}
		if n == nil {
			return
		}
		if n.Kind != Map {
			t.Fatalf("kind %d", n.Kind)
		}
		seen := map[string]bool{}
		for _, e := range n.Entries {
			if seen[e.Key] {
				t.Fatalf("key %q twice", e.Key)
			}
			seen[e.Key] = true
		}
		if m := Merge(n, n); !bytes.Equal(m.Canonical(), n.Canonical()) {
			t.Fatal("a tree laid on itself changed")
		}
		r := NewReader(n)
		for _, e := range r.Root().Free() {
			e.Value.JSON()
			e.Value.Text("")
			e.Value.Int(0, 0, 1)
			e.Value.Float(0, Range{Max: 1})
			e.Value.List()
		}
		r.Root().Section().Done()
		r.Problems()
	})
}
