package contract

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sekisho/internal/relay/codex"
)

// Binaries finds the binary of a pinned version; it is verified before it is run.
type Binaries func(version string) (string, error)

// Outcome is what a check of the pinned contract found.
type Outcome struct {
	// Problems are unexpected: each fails the check.
	Problems []string
	// Differences are all differences between the pinned versions, per surface.
	Differences map[codex.Surface][]string
	Pinned      Pinned
}

// Check generates all four surfaces (or takes them from the cache), compares the two versions, and holds them against what
// is tracked: expected differences, fingerprints, and the Go types of package codex (R-CON-02, R-CON-03).
func Check(ctx context.Context, c *Cache, binaries Binaries) (*Outcome, error) {
	o := &Outcome{Differences: map[codex.Surface][]string{}, Pinned: Pinned{}}
	schemas := map[string]map[codex.Surface]*Schema{}
	for _, version := range c.manifest.Versions() {
		binary, err := binaries(version)
		if err != nil {
			return nil, err
		}
		schemas[version] = map[codex.Surface]*Schema{}
		for _, surface := range c.manifest.Surfaces {
			s, err := c.Ensure(ctx, binary, version, surface)
			if err != nil {
				return nil, err
			}
			schemas[version][surface] = s
		}
		o.Pinned[version] = fingerprints(schemas[version][codex.Standard], schemas[version][codex.Experimental])
	}
	old, target := schemas[c.manifest.Regression], schemas[c.manifest.Target]
	for _, surface := range c.manifest.Surfaces {
		o.Differences[surface] = Compare(old[surface], target[surface])
		o.unexpected(string(surface), o.Differences[surface], Expected(surface))
	}
	pinned, err := LoadPinned()
	if err != nil {
		return nil, err
	}
	for _, version := range c.manifest.Versions() {
		o.unexpected("fingerprint "+version, lines(o.Pinned[version]), lines(pinned[version]))
		o.fits(version, schemas[version][codex.Experimental], version == c.manifest.Target)
	}
	known := slices.Sorted(maps.Keys(target[codex.Experimental].Notifications))
	o.unexpected("notification", known, codex.KnownNotifications())
	o.requests(target[codex.Experimental])
	return o, nil
}

// unexpected reports lines that only one side has.
func (o *Outcome) unexpected(what string, got, want []string) {
	for _, l := range got {
		if !slices.Contains(want, l) {
			o.Problems = append(o.Problems, what+": not recorded: "+l)
		}
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			o.Problems = append(o.Problems, what+": recorded, but gone: "+l)
		}
	}
}

// gated are members that are sent to the target only (R-INT-06).
var gated = []string{"params.capabilities.explicitGatewayOauth: absent"}

// fits holds the Go types against one version.
func (o *Outcome) fits(version string, s *Schema, exact bool) {
	for _, u := range used(s) {
		switch has := s.has(u.direction, u.method); {
		case !has && (exact || u.since155):
			o.Problems = append(o.Problems, fmt.Sprintf("%s: no %s %s", version, u.direction, u.method))
		case has && !exact && !u.since155:
			o.Problems = append(o.Problems, fmt.Sprintf("%s: has %s %s, the method table says no", version, u.direction, u.method))
		case has:
			f := &fitter{s: s, exact: exact}
			u.fit(f)
			for _, p := range f.problems {
				if !exact && slices.Contains(gated, p.String()) {
					continue
				}
				o.Problems = append(o.Problems, fmt.Sprintf("%s: %s %s: %s", version, u.direction, u.method, p))
			}
		}
	}
}

// requests checks that every server request has a disposition (R-CON-05).
func (o *Outcome) requests(s *Schema) {
	known := codex.RefusedRequests()
	for _, r := range codex.ServerRequests() {
		known = append(known, r.Name)
	}
	slices.Sort(known)
	o.unexpected("server request", slices.Sorted(maps.Keys(s.ServerReqs)), known)
}

func lines(m map[Direction]map[string]string) []string {
	var out []string
	for d, methods := range m {
		for method, print := range methods {
			out = append(out, fmt.Sprintf("%s %s %s", d, method, print))
		}
	}
	slices.Sort(out)
	return out
}

// WriteReport writes a report for people: the problems first.
func (o *Outcome) WriteReport(w io.Writer) error {
	var b strings.Builder
	for _, p := range o.Problems {
		b.WriteString("PROBLEM " + p + "\n")
	}
	for _, surface := range []codex.Surface{codex.Standard, codex.Experimental} {
		fmt.Fprintf(&b, "%s: %d differences between the pinned versions\n", surface, len(o.Differences[surface]))
		for _, d := range o.Differences[surface] {
			b.WriteString("  " + d + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
