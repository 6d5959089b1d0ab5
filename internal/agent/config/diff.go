package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sekisho/internal/sandbox"
)

// ChangeKind tells how a fact differs.
type ChangeKind uint8

// The kinds of change.
const (
	Added ChangeKind = iota
	Removed
	Changed
)

// sign is the kind's mark in front of a line.
func (k ChangeKind) sign() string { return [...]string{"+", "-", "~"}[k] }

// Change is one difference between two snapshots. Key is a key of agent.yaml (or a detail of one, such as
// "sandbox.execution.entries.go.sha256"), so that it reads the same in every language.
type Change struct {
	Kind     ChangeKind
	Key      string
	Old, New string
}

// fact is one comparable statement of a snapshot. Two facts with one id are the same statement; their values are compared.
type fact struct {
	id, key, value string
	// detail belongs to another fact and says nothing new when that one is added or removed.
	detail bool
}

// fingerprintKey marks the change of values that the snapshot holds only as a hash.
const fingerprintKey = "yaml.fingerprint"

// Diff lists every difference, in the order of the snapshot's facts; none means that the snapshots are equal.
func Diff(old, new Snapshot) []Change { return diffFacts(old.facts(), new.facts()) }

// diffFirst lists everything in s as added.
func diffFirst(s Snapshot) []Change { return diffFacts(nil, s.facts()) }

func diffFacts(before, after []fact) []Change {
	before, after = numbered(before), numbered(after)
	index := map[string]fact{}
	for _, f := range before {
		index[f.id] = f
	}
	var changes []Change
	for _, f := range after {
		o, ok := index[f.id]
		switch {
		case !ok && f.detail:
		case !ok:
			changes = append(changes, Change{Added, f.key, "", f.value})
		case o.value != f.value:
			changes = append(changes, Change{Changed, f.key, o.value, f.value})
		}
		delete(index, f.id)
	}
	for _, f := range before {
		if _, left := index[f.id]; left && !f.detail {
			changes = append(changes, Change{Removed, f.key, f.value, ""})
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return order(a.Key) - order(b.Key) })
	return changes
}

// numbered makes the ids of repeated statements differ, such as of a workspace that is listed twice.
func numbered(fs []fact) []fact {
	seen := map[string]int{}
	for i, f := range fs {
		seen[f.id]++
		fs[i].id = fmt.Sprint(f.id, "\x00", seen[f.id])
	}
	return fs
}

// order keeps removed lines beside added ones of the same part.
func order(key string) int {
	for i, prefix := range []string{"schema_version", "sandbox.profile", "sandbox.workspaces", "sandbox.mounts", "sandbox.execution",
		"sandbox.network", "sandbox.resources", "sandbox.environment"} {
		if strings.HasPrefix(key, prefix) {
			return i
		}
	}
	return 100
}

func (s Snapshot) facts() []fact {
	fs := []fact{
		{id: "schema", key: "schema_version", value: fmt.Sprint(s.SchemaVersion), detail: true},
		{id: "profile", key: "sandbox.profile", value: s.Profile},
	}
	for _, w := range s.Workspaces {
		fs = append(fs, w.facts("sandbox.workspaces", "")...)
	}
	for _, m := range s.Mounts {
		fs = append(fs, m.facts("sandbox.mounts", m.Access+" ")...)
	}
	for _, e := range s.Entries {
		fs = append(fs, e.facts()...)
	}
	fs = append(fs, networkFacts(s.Network)...)
	fs = append(fs,
		fact{id: "resources", key: "sandbox.resources.profile", value: s.Resources.Profile},
		fact{id: "memory", key: "sandbox.resources.memory_mb", value: fmt.Sprint(s.Resources.MemoryMB)},
		fact{id: "processes", key: "sandbox.resources.process_limit", value: fmt.Sprint(s.Resources.ProcessLimit)},
		fact{id: "timeout", key: "sandbox.resources.execution_timeout_seconds", value: fmt.Sprint(s.Resources.TimeoutSeconds)},
		fact{id: "cgroup", key: "sandbox.resources.cgroup", value: s.Resources.Cgroup})
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		fs = append(fs, fact{id: "env\x00" + name, key: "sandbox.environment." + name, value: s.Environment[name]})
	}
	return append(fs, fact{id: "fingerprint", key: fingerprintKey, value: s.Fingerprint})
}

func (r Resolution) facts(key, access string) []fact {
	id := key + "\x00" + r.Logical
	return []fact{
		{id: id, key: key, value: access + r.shown()},
		{id: id + "\x00id", key: key + " (device:inode)", value: r.object(), detail: true},
	}
}

// shown is the resolved path, with what was written when that is something else.
func (r Resolution) shown() string { return written(r.Logical, r.Resolved) }

func written(logical, resolved string) string {
	if logical == resolved {
		return resolved
	}
	return resolved + " (" + logical + ")"
}

// object tells one directory from another that took its place.
func (r Resolution) object() string {
	return fmt.Sprintf("%s %d:%d %s", r.Resolved, r.ID.Dev, r.ID.Ino, r.Filesystem)
}

func (e EntryResolution) facts() []fact {
	key := "sandbox.execution.entries." + e.Alias
	id := "entry\x00" + strings.ToLower(e.Alias) + "\x00"
	fs := []fact{
		{id: id + "path", key: key, value: written(e.Logical, e.Resolved)},
		{id: id + "class", key: key + ".class", value: string(e.Class)},
		{id: id + "sha256", key: key + ".sha256", value: e.SHA256},
		{id: id + "alias", key: key + ".alias", value: e.Alias, detail: true},
		{id: id + "kind", key: key + " (script, filesystem)", value: fmt.Sprint(e.Script, " ", e.Filesystem), detail: true},
	}
	if e.RuntimeRoot != nil {
		fs = append(fs, fact{id: id + "runtime", key: key + ".runtime_root", value: e.RuntimeRoot.shown()},
			fact{id: id + "runtime\x00id", key: key + ".runtime_root (device:inode)", detail: true,
				value: e.RuntimeRoot.object()})
	}
	return fs
}

func networkFacts(n sandbox.NetworkPolicy) []fact {
	fs := []fact{{id: "access", key: "sandbox.network.access", value: n.Access}}
	for _, p := range n.Local {
		fs = append(fs, fact{id: fmt.Sprint("local\x00", p), key: "sandbox.network.local_endpoints", value: fmt.Sprint(p)})
	}
	for _, e := range n.Restricted {
		fs = append(fs, fact{id: "restricted\x00" + e.Host, key: "sandbox.network.restricted_endpoints", value: fmt.Sprint(e.Host, " ", e.Ports)})
	}
	return fs
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

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`) })

// shellQuote quotes a word for a POSIX shell when it needs that.
func shellQuote(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
