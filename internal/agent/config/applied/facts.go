package applied

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sekisho/internal/sandbox"
)

// fact is one comparable statement of a snapshot. Two facts with one id are the same statement; their values are compared.
type fact struct {
	id, key, value string
	// whole tells more than value: what is shown when the statement is new or gone. Empty means value.
	whole string
	// of is the id of the statement whose detail this is: when that one is new or gone this says nothing more. "-" stands
	// for the snapshot itself.
	of string
	// written marks a value as the files write it; what it resolves to may be another statement.
	written bool
}

func (f fact) shown() string { return cmp.Or(f.whole, f.value) }

// silent reports whether the statement that f is a detail of is, like f, in one snapshot only.
func (f fact) silent(own, other map[string]fact) bool {
	if f.of == "-" {
		return true
	}
	_, here := own[f.of]
	_, there := other[f.of]
	return here && !there
}

// numbered makes the ids of repeated statements differ, such as of a workspace that is listed twice.
func numbered(fs []fact) []fact {
	seen := map[string]int{}
	for i, f := range fs {
		seen[f.id]++
		fs[i].id = numberedID(f.id, seen[f.id])
		if f.of != "" && f.of != "-" {
			fs[i].of = numberedID(f.of, seen[f.id]) // details come with their statement, equally often
		}
	}
	return fs
}

func numberedID(id string, n int) string { return fmt.Sprint(id, "\x00", n) }

func (s Snapshot) facts() []fact {
	fs := []fact{
		{id: "schema", key: "schema_version", value: fmt.Sprint(s.SchemaVersion), of: "-"},
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
	fs = append(fs, fact{id: "temp", key: "sandbox.temp_mb", value: fmt.Sprint(s.TempMB)}, fact{id: "home", key: "sandbox.home_mb", value: fmt.Sprint(s.HomeMB)})
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		fs = append(fs, fact{id: "env\x00" + name, key: "sandbox.environment." + name, value: s.Environment[name]})
	}
	for _, key := range slices.Sorted(maps.Keys(s.Values)) {
		fs = append(fs, fact{id: "value\x00" + key, key: key, value: s.Values[key], written: true})
	}
	return append(fs, fact{id: "fingerprint", key: FingerprintKey, value: s.Fingerprint, of: "-"})
}

func (r Resolution) facts(key, access string) []fact {
	id := key + "\x00" + r.Logical
	return []fact{
		{id: id, key: key, value: access + r.Shown()},
		{id: id + "\x00declared", key: key + " (declared path)", value: shownDeclared(r.Declared), of: id},
		{id: id + "\x00id", key: key + " (device:inode)", value: r.object(), of: id},
	}
}

// Shown is the resolved path, with what was written when that is something else.
func (r Resolution) Shown() string { return Written(r.Logical, r.Resolved) }

// Written is a resolved path with what was written, when that is something else.
func Written(logical, resolved string) string {
	if logical == resolved {
		return resolved
	}
	return resolved + " (" + logical + ")"
}

// shownDeclared is a declared spelling that leads elsewhere through links, or a dash.
func shownDeclared(declared string) string { return cmp.Or(declared, "–") }

// object tells one directory from another that took its place.
func (r Resolution) object() string {
	return fmt.Sprintf("%s %d:%d %s", r.Resolved, r.ID.Dev, r.ID.Ino, r.Filesystem)
}

func (e EntryResolution) facts() []fact {
	key := "sandbox.execution.entries." + e.Alias
	id := "entry\x00" + strings.ToLower(e.Alias) + "\x00"
	path := fact{id: id + "path", key: key, value: Written(e.Logical, e.Resolved)}
	path.whole = path.value + "  " + string(e.Class)
	fs := []fact{
		{id: id + "class", key: key + ".class", value: string(e.Class), of: path.id},
		{id: id + "sha256", key: key + ".sha256", value: e.SHA256, of: path.id},
		{id: id + "declared", key: key + " (declared path)", value: shownDeclared(e.Declared), of: path.id},
		{id: id + "alias", key: key + ".alias", value: e.Alias, of: path.id},
		{id: id + "kind", key: key + " (filesystem)", value: e.Filesystem, of: path.id},
	}
	for i, in := range e.Interpreters {
		one := fact{id: fmt.Sprint(id, "interpreter\x00", i), key: key + ".interpreter", value: in.Shown(), of: path.id}
		path.whole += "  interpreter " + one.value
		fs = append(fs, one, fact{id: one.id + "\x00filesystem", key: key + ".interpreter (filesystem)", value: in.Filesystem, of: one.id})
	}
	for _, name := range slices.Sorted(maps.Keys(e.Environment)) {
		fs = append(fs, fact{id: id + "env\x00" + name, key: key + ".environment." + name, value: e.Environment[name]})
	}
	if e.RuntimeRoot != nil {
		root := fact{id: id + "runtime", key: key + ".runtime_root", value: e.RuntimeRoot.Shown(), of: path.id}
		path.whole += "  runtime_root " + root.value
		fs = append(fs, root, fact{id: id + "runtime\x00declared", key: key + ".runtime_root (declared path)", value: shownDeclared(e.RuntimeRoot.Declared), of: root.id},
			fact{id: id + "runtime\x00id", key: key + ".runtime_root (device:inode)", value: e.RuntimeRoot.object(), of: root.id})
	}
	path.whole += "  sha256 " + e.SHA256
	return append([]fact{path}, fs...)
}

// Shown is an interpreter with everything that was approved of it.
func (in InterpreterResolution) Shown() string {
	text := Written(in.Name, in.Path)
	if len(in.Args) > 0 {
		text += " " + strings.Join(in.Args, " ")
	}
	return text + "  sha256 " + in.SHA256
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

// Endpoint is one statement about the network: which, by the key that declares it, and what it says.
type Endpoint struct{ ID, Key, Value string }

// Endpoints are what a policy says of the network beside its mode.
func Endpoints(n sandbox.NetworkPolicy) []Endpoint {
	var out []Endpoint
	for _, f := range networkFacts(n)[1:] {
		out = append(out, Endpoint{f.id, f.key, f.value})
	}
	return out
}

// Same reports whether nothing of two resolutions of an entry differs.
func (e EntryResolution) Same(other EntryResolution) bool {
	return len(diffFacts(e.facts(), other.facts())) == 0
}
