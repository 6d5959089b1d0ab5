package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sekisho/test/mutants/guard"
)

// The list of guards follows the code: what is to be cut is there once, and the test that must notice exists. Whether it
// notices is found out by `make mutants`.
func TestGuardsAreInTheirPlaces(t *testing.T) {
	ids := known(t)
	names := map[string]bool{}
	for _, g := range guard.All() {
		if names[g.Name] {
			t.Errorf("two guards are called %q", g.Name)
		}
		names[g.Name] = true
		text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(g.File)))
		if err != nil {
			t.Errorf("%s: %v", g.Name, err)
			continue
		}
		if n := strings.Count(string(text), g.Cut); n != 1 {
			t.Errorf("%s: what is cut occurs %d times in %s", g.Name, n, g.File)
		}
		if !hasTest(t, g.Package, g.Test) {
			t.Errorf("%s: %s has no test %s", g.Name, g.Package, g.Test)
		}
		for _, id := range g.IDs {
			if !slices.Contains(ids, id) {
				t.Errorf("%s: %s is in no specification", g.Name, id)
			}
		}
	}
}

func hasTest(t *testing.T, pkg, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	decl := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(test) + `\(t \*testing\.T\)`)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if decl.Match(data) {
			return true
		}
	}
	return false
}
