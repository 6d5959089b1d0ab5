package applied

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	shipped "sekisho/config"
	"sekisho/internal/yamltree"
)

// ChangeKind tells how a fact differs.
type ChangeKind uint8

// The kinds of change.
const (
	Added ChangeKind = iota
	Removed
	Changed
)

// Sign is the kind's mark in front of a line.
func (k ChangeKind) Sign() string { return [...]string{"+", "-", "~"}[k] }

// Change is one difference between two snapshots. Key is a key of agent.yaml (or a detail of one, such as
// "sandbox.execution.entries.go.sha256"), so that it reads the same in every language.
type Change struct {
	Kind     ChangeKind
	Key      string
	Old, New string
}

// against names the default that a value replaces, or that replaces it.
func (c Change) against(usual map[string]string) Change {
	v, ok := usual[c.Key]
	switch {
	case !ok:
	case c.Kind == Added && v != c.New:
		return Change{Changed, c.Key, v, c.New}
	case c.Kind == Removed && v != c.Old:
		return Change{Changed, c.Key, c.Old, v}
	}
	return c
}

// FingerprintKey stands for the merged files as a whole. It is shown only when no value tells the difference.
const FingerprintKey = "yaml.fingerprint"

// Diff lists every difference, in the order of the snapshot's facts; none means that the snapshots are equal.
func Diff(old, new Snapshot) []Change { return diffFacts(old.facts(), new.facts()) }

// First lists everything in s as added: every permission, the model with its server, and every other value that is not
// the shipped one.
func First(s Snapshot) []Change {
	usual := shippedValues()
	values := maps.Clone(s.Values)
	for key, v := range usual {
		always := key == "ollama.endpoint" || key == "ollama.model"
		if _, set := values[key]; always && !set {
			values[key] = v
		} else if !always && values[key] == v {
			delete(values, key)
		}
	}
	for key := range values {
		if slices.ContainsFunc(resolvedKeys, func(p string) bool { return below(p, key) }) {
			delete(values, key) // another statement tells it
		}
	}
	s.Values = values
	var changes []Change
	for _, f := range s.facts() {
		if f.of == "" {
			changes = append(changes, Change{Added, f.key, "", f.shown()})
		}
	}
	slices.SortStableFunc(changes, byOrder)
	return changes
}

// shippedValues are the values of the shipped configuration, which are the defaults too.
func shippedValues() map[string]string {
	tree, problems := yamltree.Parse("agent.yaml", shipped.AgentYAML())
	if len(problems) > 0 { // cannot happen: a test reads the same bytes
		panic("config: the shipped configuration cannot be read")
	}
	return tree.Flat()
}

func diffFacts(before, after []fact) []Change {
	before, after = numbered(before), numbered(after)
	was, is := byID(before), byID(after)
	var changes, asWritten []Change
	add := func(f fact, c Change) {
		if f.written {
			asWritten = append(asWritten, c)
		} else if f.id != numberedID("fingerprint", 1) || len(asWritten) == 0 {
			changes = append(changes, c)
		}
	}
	for _, f := range before {
		if _, kept := is[f.id]; !kept && !f.silent(was, is) {
			add(f, Change{Removed, f.key, f.shown(), ""})
		}
	}
	for _, f := range after {
		switch o, had := was[f.id]; {
		case had && o.value != f.value:
			add(f, Change{Changed, f.key, o.value, f.value})
		case !had && !f.silent(is, was):
			add(f, Change{Added, f.key, "", f.shown()})
		}
	}
	resolved := slices.Clone(changes)
	usual := shippedValues()
	for _, c := range asWritten {
		if !told(resolved, c.Key) {
			changes = append(changes, c.against(usual))
		}
	}
	slices.SortStableFunc(changes, byOrder)
	return changes
}

// told reports whether a difference of what is resolved already tells that the written value of key differs.
func told(changes []Change, key string) bool {
	return slices.ContainsFunc(changes, func(c Change) bool {
		for _, p := range resolvedKeys {
			if below(p, key) && below(p, c.Key) && (c.Key == key || declarationKey().MatchString(key)) {
				return true
			}
		}
		return false
	})
}

// resolvedKeys are the parts of agent.yaml that a snapshot holds resolved, so that not only their text is compared.
var resolvedKeys = []string{"schema_version", "sandbox.profile", "sandbox.workspaces", "sandbox.mounts", "sandbox.execution.entries", "sandbox.network",
	"sandbox.resources", "sandbox.environment", "sandbox.temp_mb", "sandbox.home_mb"}

// declarationKey matches the written values that the statements about workspaces, mounts, entries, endpoints and variables
// repeat in full.
var declarationKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^sandbox\.((workspaces|mounts|execution\.entries)(\[[0-9]+\](\.(path|access|alias|runtime_root|environment(\..+)?))?)?` +
		`|network\.(local|restricted)_endpoints(\[[0-9]+\](\.(host|ports))?)?|environment)$`)
})

// below reports whether key is part or lies below it.
func below(part, key string) bool {
	rest, ok := strings.CutPrefix(key, part)
	return ok && (rest == "" || strings.IndexByte(".[ ", rest[0]) >= 0)
}

func byID(fs []fact) map[string]fact {
	m := make(map[string]fact, len(fs))
	for _, f := range fs {
		m[f.id] = f
	}
	return m
}

func byOrder(a, b Change) int { return order(a.Key) - order(b.Key) }

// order keeps removed lines beside added ones of the same part.
func order(key string) int {
	for i, prefix := range []string{"schema_version", "sandbox.profile", "sandbox.workspaces", "sandbox.mounts", "sandbox.execution",
		"sandbox.network", "sandbox.resources", "sandbox.environment", "sandbox.temp_mb", "sandbox.home_mb"} {
		if strings.HasPrefix(key, prefix) {
			return i
		}
	}
	return 100
}

// inline puts changes on one line, for the sentence of a fault.
func inline(changes []Change) string {
	parts := make([]string, 0, len(changes))
	for _, c := range changes {
		switch c.Kind {
		case Added:
			parts = append(parts, "+ "+c.Key+": "+c.New)
		case Removed:
			parts = append(parts, "- "+c.Key+": "+c.Old)
		case Changed:
			parts = append(parts, "~ "+c.Key+": "+c.Old+" → "+c.New)
		}
	}
	return strings.Join(parts, "; ")
}
