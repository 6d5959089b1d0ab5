package yamltree

import (
	"bytes"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// proves A-CFG-03
func TestFlatNamesEveryValue(t *testing.T) {
	n, problems := Parse("f", []byte(`schema_version: 2
ollama: {endpoint: "http://localhost:1", stop: ["a, b", c], options: {top_k: 5, seed: "5"}, extra_options: {}}
sandbox:
  workspaces: [one, ../two]
  mounts: [{path: 'C:\data', access: read_only}]
  environment:
  empty: []
  words: ["", "null", " x", "[]", true, "true"]
  a.b: {"[0]": x}
`))
	if problems != nil {
		t.Fatal(problems)
	}
	want := map[string]string{
		"schema_version": "2", "ollama.endpoint": "http://localhost:1", "ollama.stop": `["a, b", c]`, "ollama.options.top_k": "5", "ollama.options.seed": `"5"`,
		"ollama.extra_options": "{}", "sandbox.workspaces": "[one, ../two]", "sandbox.mounts[0].path": `C:\data`, "sandbox.mounts[0].access": "read_only",
		"sandbox.environment": "null", "sandbox.empty": "[]", "sandbox.words": `["", "null", " x", "[]", true, "true"]`, `sandbox."a.b"."[0]"`: "x",
	}
	if diff := cmp.Diff(want, n.Flat()); diff != "" {
		t.Error(diff)
	}
}

// proves A-CFG-03
func TestFlatIsEqualExactlyForEqualContent(t *testing.T) {
	text := rapid.SampledFrom([]string{"a", "b", "1", "true", "", "a, b", `"`, `""`, "[", "]", "[]", "{}", "a.b", "a.b[0]", "[0]", "null", "~", " ", "0x1", ".5", "1e3", `a", "b`})
	var gen func(depth int) *rapid.Generator[*Node]
	gen = func(depth int) *rapid.Generator[*Node] {
		return rapid.Custom(func(t *rapid.T) *Node {
			kinds := []Kind{Null, Bool, Int, String, String, List, Map}
			if depth == 0 {
				kinds = kinds[:5]
			}
			n := &Node{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
			switch n.Kind {
			case Bool:
				n.Text = "true"
			case Int:
				n.Text = "1"
			case String:
				n.Text = text.Draw(t, "text")
			case List:
				n.Items = rapid.SliceOfN(gen(depth-1), 0, 2).Draw(t, "items")
			case Map:
				for _, k := range rapid.SliceOfNDistinct(text.Filter(func(s string) bool { return s != "" }), 0, 2, rapid.ID).Draw(t, "keys") {
					n.Entries = append(n.Entries, Entry{Key: k, Value: gen(depth-1).Draw(t, "value")})
				}
			}
			return n
		})
	}
	document := func(n *Node) *Node { return &Node{Kind: Map, Entries: []Entry{{Key: "k", Value: n}}} }
	rapid.Check(t, func(t *rapid.T) {
		a, b := document(gen(3).Draw(t, "a")), document(gen(3).Draw(t, "b"))
		same := bytes.Equal(a.Canonical(), b.Canonical())
		if got := maps.Equal(a.Flat(), b.Flat()); got != same {
			t.Fatalf("equal content %v, but equal maps %v\n%v\n%v", same, got, a.Flat(), b.Flat())
		}
	})
}
