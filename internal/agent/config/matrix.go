package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sekisho/internal/agent/config/applied"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/statedir"
	"sekisho/internal/visible"
)

// roots prints the effective grants on files: those of the configuration now, then those that only the applied one has.
func (v *view) roots() {
	var rows [][]string
	old := map[string]sandbox.Root{}
	declared := func(p *sandbox.EffectivePolicy, path string) string {
		shown := visible.Escape(path)
		for _, s := range p.DeclaredAs(path) {
			shown += "  " + v.text("show.declared_as", "path", visible.Escape(s))
		}
		return shown
	}
	if v.appliedPolicy != nil {
		for _, r := range v.appliedPolicy.Roots {
			old[r.Path] = r
		}
	}
	row := func(mark string, r sandbox.Root, p *sandbox.EffectivePolicy) []string {
		origins := make([]string, 0, len(r.Origins))
		for _, o := range r.Origins {
			origins = append(origins, string(o))
		}
		return []string{mark, v.rights(r.Rights), strings.Join(origins, ", "), declared(p, r.Path)}
	}
	if v.valid {
		for _, r := range v.now.Policy.Roots {
			o, has := old[r.Path]
			rows = append(rows, row(v.mark(has, sameRoot(o, r)), r, &v.now.Policy))
			delete(old, r.Path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(old)) {
		mark := v.text("show.applied.removed")
		if !v.valid { // not removed: the configuration just cannot be compiled
			mark = v.text("show.applied.yes")
		}
		rows = append(rows, row(mark, old[path], v.appliedPolicy))
	}
	v.section("show.roots", []string{"show.column.applied", "show.column.rights", "show.column.origin", "show.column.path"}, rows)
}

// sameRoot ignores the identity of a file root: an entry is identified by its hash, in its own table.
func sameRoot(a, b sandbox.Root) bool {
	return a.Rights == b.Rights && a.File == b.File && slices.Equal(a.Origins, b.Origins) && (a.File || a.ID == b.ID)
}

func (v *view) rights(r sandbox.Rights) string {
	var names []string
	for _, one := range []struct {
		right sandbox.Rights
		key   string
	}{{sandbox.Read, "show.right.read"}, {sandbox.Write, "show.right.write"}, {sandbox.Delete, "show.right.delete"}, {sandbox.Execute, "show.right.execute"}} {
		if r.Has(one.right) {
			names = append(names, v.text(one.key))
		}
	}
	return strings.Join(names, v.text("show.right.separator"))
}

// entries prints every execution entry with its full hash; a changed one is followed by what was applied.
func (v *view) entries() {
	var rows [][]string
	var old []applied.EntryResolution
	if v.applied != nil {
		old = slices.Clone(v.applied.Entries)
	}
	for _, d := range v.l.Config.Sandbox.Entries {
		sameAlias := func(e applied.EntryResolution) bool { return strings.EqualFold(e.Alias, d.Alias) }
		i, j := slices.IndexFunc(v.now.Snapshot.Entries, sameAlias), slices.IndexFunc(old, sameAlias)
		now := applied.EntryResolution{Alias: d.Alias, Logical: d.Path.Logical}
		if i >= 0 {
			now = v.now.Snapshot.Entries[i]
		}
		same := i >= 0 && j >= 0 && old[j].Same(now)
		rows = append(rows, v.entryRow(v.mark(j >= 0, same), now))
		if j >= 0 {
			if !same {
				rows = append(rows, v.entryRow(v.text("show.applied.was"), old[j]))
			}
			old = slices.Delete(old, j, j+1)
		}
	}
	for _, e := range old {
		rows = append(rows, v.entryRow(v.text("show.applied.removed"), e))
	}
	v.section("show.entries", []string{"show.column.applied", "show.column.alias", "show.column.class", "show.column.sha256", "show.column.path"}, rows)
}

func (v *view) entryRow(mark string, e applied.EntryResolution) []string {
	if e.Resolved == "" {
		return []string{mark, e.Alias, "–", "–", visible.Escape(e.Logical) + " → " + v.text("show.unresolved")}
	}
	path := visible.Escape(applied.Written(e.Logical, e.Resolved))
	if e.RuntimeRoot != nil {
		path += "  " + v.text("show.runtime_root", "path", e.RuntimeRoot.Shown())
	}
	for _, in := range e.Interpreters {
		path += "  " + v.text("show.interpreter", "interpreter", visible.Escape(in.Shown()))
	}
	class := string(e.Class)
	if class == "" {
		class = "–"
	}
	return []string{mark, e.Alias, class, e.SHA256, path}
}

// network prints the mode and every endpoint, then those that only the applied configuration has.
func (v *view) network() {
	n, was := v.now.Snapshot.Network, sandbox.NetworkPolicy{}
	if v.applied != nil {
		was = v.applied.Network
	}
	rows := [][]string{{v.value(was.Access, n.Access), "access", n.Access, v.text("show.network." + n.Access)}}
	old := applied.Endpoints(was)
	for _, f := range applied.Endpoints(n) {
		i := slices.IndexFunc(old, func(o applied.Endpoint) bool { return o.ID == f.ID })
		rows = append(rows, []string{v.mark(i >= 0, i >= 0 && old[i].Value == f.Value), strings.TrimPrefix(f.Key, "sandbox.network."), visible.Escape(f.Value), "TCP"})
		if i >= 0 {
			old = slices.Delete(old, i, i+1)
		}
	}
	for _, f := range old {
		rows = append(rows, []string{v.text("show.applied.removed"), strings.TrimPrefix(f.Key, "sandbox.network."), visible.Escape(f.Value), "TCP"})
	}
	v.section("show.network", nil, rows)
}

// value is the applied column of a single value.
func (v *view) value(was, now string) string {
	if v.applied != nil && was != now {
		return v.text("show.applied.value", "value", was)
	}
	return v.mark(v.applied != nil, was == now)
}

func (v *view) resources() {
	if v.now.Snapshot.Resources.MemoryMB == 0 {
		v.section("show.resources", nil, nil)
		return
	}
	now, was := v.now.Snapshot.Resources, sandbox.ResourcePolicy{}
	if v.applied != nil {
		was = v.applied.Resources
	}
	var rows [][]string
	for _, x := range []struct{ name, was, now string }{
		{"profile", was.Profile, now.Profile},
		{"memory_mb", strconv.Itoa(was.MemoryMB), strconv.Itoa(now.MemoryMB)},
		{"process_limit", strconv.Itoa(was.ProcessLimit), strconv.Itoa(now.ProcessLimit)},
		{"execution_timeout_seconds", strconv.Itoa(was.TimeoutSeconds), strconv.Itoa(now.TimeoutSeconds)},
		{"cgroup", was.Cgroup, now.Cgroup},
	} {
		rows = append(rows, []string{v.value(x.was, x.now), x.name, visible.Escape(x.now)})
	}
	v.section("show.resources", nil, rows)
}

func (v *view) baseline() {
	var rows [][]string
	for _, g := range policy.Baseline(v.l.Config.Sandbox.Profile, v.l.Config.Sandbox.Network.Access) {
		rows = append(rows, []string{v.phrase(g.Name), visible.Escape(g.Identifier), visible.Escape(g.Origin), v.phrase(g.Condition)})
	}
	v.section("show.baseline", []string{"show.column.name", "show.column.identifier", "show.column.origin", "show.column.condition"}, rows)
}

// environment prints where the task's directories are and every literal variable with its value.
func (v *view) environment() {
	now, was := v.now.Snapshot, applied.Snapshot{}
	if v.applied != nil {
		was = *v.applied
	}
	rows := [][]string{
		{v.value(strconv.Itoa(was.TempMB), strconv.Itoa(now.TempMB)), "TMPDIR, TEMP, TMP", v.text("show.temp", "mb", now.TempMB)},
		{v.value(strconv.Itoa(was.HomeMB), strconv.Itoa(now.HomeMB)), "HOME", v.home(now.HomeMB)},
	}
	variables := func(key string, now, was map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(now)) {
			old, had := was[name]
			rows = append(rows, []string{v.mark(had, old == now[name]), visible.Escape(key + name), visible.Escape(now[name])})
		}
		for _, name := range slices.Sorted(maps.Keys(was)) {
			if _, kept := now[name]; !kept {
				rows = append(rows, []string{v.text("show.applied.removed"), visible.Escape(key + name), visible.Escape(was[name])})
			}
		}
	}
	variables("", now.Environment, was.Environment)
	for _, e := range now.Entries {
		var old map[string]string
		if i := slices.IndexFunc(was.Entries, func(o applied.EntryResolution) bool { return strings.EqualFold(o.Alias, e.Alias) }); i >= 0 {
			old = was.Entries[i].Environment
		}
		variables(e.Alias+": ", e.Environment, old)
	}
	v.section("show.environment", nil, rows)
}

// home tells what HOME is: under development a directory that is kept, with its size and how to clear it.
func (v *view) home(mb int) string {
	label, identity := v.now.Policy.HomeIdentity()
	if identity == "" {
		return v.text("show.home", "mb", mb)
	}
	name := statedir.HomeName(label, identity)
	path := statedir.HomePath(v.l.Places.CacheRoot, name)
	used := v.text("show.unknown")
	if size, err := statedir.HomeSize(v.l.Places.CacheRoot, name); err == nil {
		used = strconv.FormatInt((size.Bytes+1<<20-1)>>20, 10) + " MiB"
	}
	quoted := ShellQuote(path)
	return v.text("show.home.workspace", "path", visible.Escape(path), "mb", mb, "used", used,
		"command", visible.Escape("chmod -R u+rwx "+quoted+" && rm -rf "+quoted))
}

// phrase translates a phrase of the policy, which speaks one language; without a text of its own it stays as it is.
func (v *view) phrase(s string) string {
	if key := phraseKey(s); v.c.Has(key) {
		return v.c.Text(key, nil)
	}
	return visible.Escape(s)
}

// phraseKey is "baseline." with every run of other characters than lower-case letters and digits as one "_".
func phraseKey(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return "baseline." + strings.Join(words, "_")
}
