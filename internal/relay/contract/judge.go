package contract

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/locate"
)

// State says how a method's contract differs from the pinned one.
type State string

// The states.
const (
	Same    State = "same"
	Changed State = "changed"
	Added   State = "added"
	Removed State = "removed"
)

// MethodReport is the verdict on one method.
type MethodReport struct {
	Direction Direction
	Method    string
	State     State
	// Used says whether relaycodex uses it. Only a used method can be Affected: it is gone, or Problems lists what does not
	// fit; a method that changed otherwise still works.
	Used, Affected bool
	Problems       []Problem
}

// Report is the verdict on one CLI (R-CON-06).
type Report struct {
	Binary, Version string
	// Against is the pinned version that it is compared with: its own, or the target.
	Against string
	Methods []MethodReport
	// Changes are the changed places in the types of used methods, when the pinned schema is in the cache; nil otherwise.
	Changes []string
	// Detailed says whether Changes could be made.
	Detailed bool
}

// Affected reports whether the used surface is affected.
func (r *Report) Affected() bool {
	return slices.ContainsFunc(r.Methods, func(m MethodReport) bool { return m.Affected })
}

// Judge finds the CLI that o names, generates its schema into a directory that is removed again, and holds it against the
// pinned contract and what this client uses. Nothing of it enters the cache: a build that somebody has is never a contract.
func (c *Cache) Judge(ctx context.Context, o locate.Options) (*Report, error) {
	found, err := locate.Codex(o)
	if err != nil {
		return nil, err
	}
	version, err := locate.Version(ctx, found.Binary)
	if err != nil {
		return nil, err
	}
	standard, err := c.once(ctx, found.Binary, codex.Standard)
	if err != nil {
		return nil, err
	}
	experimental, err := c.once(ctx, found.Binary, codex.Experimental)
	if err != nil {
		return nil, err
	}
	pinned, err := LoadPinned()
	if err != nil {
		return nil, err
	}
	r := &Report{Binary: found.Binary, Version: version, Against: codex.Target}
	if codex.Pinned(version) {
		r.Against = version
	}
	r.judge(experimental, fingerprints(standard, experimental), pinned[r.Against])
	if reference, err := c.Schema(r.Against, codex.Experimental); err == nil {
		r.Detailed = true
		r.Changes = usedChanges(reference, experimental)
	}
	return r, nil
}

// judge fills Methods from what both sides have.
func (r *Report) judge(s *Schema, got, want map[Direction]map[string]string) {
	uses := map[Direction]map[string]use{Call: {}, ServerRequest: {}, Notification: {}}
	for _, u := range used(s) {
		if r.Against != codex.Regression || u.since155 {
			uses[u.direction][u.method] = u
		}
	}
	for _, d := range []Direction{Call, ServerRequest, Notification} {
		for _, method := range both(got[d], want[d]) {
			print, now := got[d][method]
			old, before := want[d][method]
			m := MethodReport{Direction: d, Method: method, State: Same}
			switch {
			case !now:
				m.State = Removed
			case !before:
				m.State = Added
			case print != old:
				m.State = Changed
			}
			if u, ok := uses[d][method]; ok {
				m.Used = true
				f := &fitter{s: s}
				if now {
					u.fit(f)
				}
				m.Problems = slices.DeleteFunc(f.problems, func(p Problem) bool {
					return r.Against == codex.Regression && slices.Contains(gated, p.String())
				})
				m.Affected = !now || len(m.Problems) > 0
			}
			r.Methods = append(r.Methods, m)
		}
	}
}

// usedChanges compares the types of the used methods.
func usedChanges(a, b *Schema) []string {
	names := map[string]bool{}
	for _, s := range []*Schema{a, b} {
		for _, u := range used(s) {
			for _, t := range s.roots(u.direction, u.method) {
				names[t] = true
			}
		}
	}
	var common []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, inA := a.types[name]
		_, inB := b.types[name]
		if inA && inB {
			common = append(common, name)
		}
	}
	return changes(a.factsOf(common), b.factsOf(common))
}

// once generates a surface beside the cache and forgets it.
func (c *Cache) once(ctx context.Context, binary string, surface codex.Surface) (*Schema, error) {
	parent, unlock, err := c.locked(ctx, "judged")
	if err != nil {
		return nil, err
	}
	defer unlock()
	name := "." + randomName()
	if err := c.fsys.Mkdir(parent, name, 0o700); err != nil {
		return nil, err
	}
	defer removeTree(c.fsys, parent, name)
	dir, err := os.Open(filepath.Join(parent.Name(), name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := c.generate(ctx, binary, c.manifest.Arguments[surface], dir); err != nil {
		return nil, err
	}
	bundle, err := readBundle(ctx, dir.Name(), binary)
	if err != nil {
		return nil, err
	}
	s, err := ParseSchema(bundle)
	if err != nil {
		return nil, failed(binary, err)
	}
	return s, nil
}
