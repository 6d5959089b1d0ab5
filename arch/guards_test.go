package arch

import (
	"regexp"
	"slices"
	"testing"

	"sekisho/test/mutants/guard"
)

// guarded are the kinds of requirements that must fail when something is taken out of the product.
var guarded = regexp.MustCompile(`^(A-POL|A-SBX|A-TX|R-INT|R-REC)-`)

// unguarded are requirements of these kinds that no single place of the product keeps, each with why.
var unguarded = map[string]string{}

// The list of guards follows the code: what is to be cut is there once, and the test that must notice exists and proves what
// would be lost. Whether it notices is found out by `make mutants`.
func TestGuardsAreInTheirPlaces(t *testing.T) {
	ids := known(t)
	names := map[string]bool{}
	for _, g := range guard.All() {
		if names[g.Name] {
			t.Errorf("two guards are called %q", g.Name)
		}
		names[g.Name] = true
		if _, _, err := guard.Locate(root(t), g); err != nil {
			t.Errorf("%s: %v", g.Name, err)
		}
		killer, err := guard.FindKiller(root(t), g)
		switch {
		case err != nil:
			t.Errorf("%s: %v", g.Name, err)
			continue
		case killer == nil:
			t.Errorf("%s: %s has no test %s", g.Name, g.Package, g.Test)
			continue
		case len(g.IDs) == 0:
			t.Errorf("%s: no requirement is named", g.Name)
		}
		for _, id := range g.IDs {
			switch {
			case !slices.Contains(ids, id):
				t.Errorf("%s: %s is in no specification", g.Name, id)
			case !slices.Contains(killer.Proves, id):
				t.Errorf("%s: %s is not among what %s proves: %v", g.Name, id, g.Test, killer.Proves)
			}
		}
	}
}

// Every requirement about confinement, transactions, requests and recovery that is built is kept by something that can be
// taken out, and a test that proves the requirement sees it.
func TestRequirementsHaveGuards(t *testing.T) {
	touched := map[string]bool{}
	for _, g := range guard.All() {
		for _, id := range g.IDs {
			touched[id] = true
		}
	}
	for _, id := range known(t) {
		_, isLater := later[id]
		why, excused := unguarded[id]
		switch {
		case !guarded.MatchString(id) || isLater:
		case excused && touched[id]:
			t.Errorf("%s has a guard and is listed as having none (%q)", id, why)
		case !excused && !touched[id]:
			t.Errorf("%s has no guard in test/mutants/guard: nothing shows that a test notices its loss", id)
		}
	}
	if n := len(guard.All()); n < 40 {
		t.Errorf("only %d guards", n)
	}
}
