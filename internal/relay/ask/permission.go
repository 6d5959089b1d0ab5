package ask

import (
	"maps"
	"slices"
	"strconv"

	"sekisho/internal/fault"
	"sekisho/internal/relay/codex"
	"sekisho/internal/strictjson"
	"sekisho/internal/visible"
)

func projectPermissions(c *Card, r *codex.PermissionsApproval, asked []byte) *refusal {
	if name := unlisted(asked); name != "" {
		return unknownPermission(name)
	}
	cwd := literal(r.Cwd)
	c.Kind = PermissionsCard
	c.Permissions = &PermissionsView{Cwd: &cwd, Reason: optional(r.Reason), Environment: optional(r.EnvironmentID), Grants: grants(r.Permissions)}
	return nil
}

func unknownPermission(name string) *refusal {
	return &refusal{code: codex.CodeInvalidParams,
		reason: fault.New(fault.RequestRefused, fault.Variant("permission"), fault.Arg("detail", visible.Line(name, 100)))}
}

// place is one thing in the file system that a request names. The server may name it twice, as path and as entry.
type place struct {
	kind, access, value, subpath string
}

func placeOf(e codex.FileEntry) place {
	p := place{kind: "path", access: string(e.Access), value: e.Path.Path}
	switch e.Path.Type {
	case "glob_pattern":
		p.kind, p.value = "pattern", e.Path.Pattern
	case "special":
		p.kind, p.value, p.subpath = "special", e.Path.Value.Kind, e.Path.Value.Subpath
		if e.Path.Value.Path != "" {
			p.value += ":" + e.Path.Value.Path
		}
	}
	return p
}

// places lists what p asks for in the file system, each once.
func places(p codex.Permissions) []place {
	var list []place
	add := func(pl place) {
		if !slices.Contains(list, pl) {
			list = append(list, pl)
		}
	}
	if f := p.FileSystem; f != nil {
		for _, path := range f.Read {
			add(place{kind: "path", access: "read", value: path})
		}
		for _, path := range f.Write {
			add(place{kind: "path", access: "write", value: path})
		}
		for _, e := range f.Entries {
			add(placeOf(e))
		}
	}
	return list
}

func asksNetwork(p codex.Permissions) bool {
	return p.Network != nil && p.Network.Enabled != nil && *p.Network.Enabled
}

func grants(p codex.Permissions) []Grant {
	list := []Grant{}
	if asksNetwork(p) {
		list = append(list, Grant{ID: "network", Kind: "network"})
	}
	for i, pl := range places(p) {
		list = append(list, Grant{ID: strconv.Itoa(i), Kind: pl.kind, Access: pl.access, Value: literal(pl.value), Subpath: optional(pl.subpath), Fixed: pl.access == "deny"})
	}
	return list
}

// granted is the part of asked that ids select. What denies comes with every other grant in the file system, or the grant
// would be wider than what was asked.
func granted(asked codex.Permissions, ids []string) (codex.Permissions, error) {
	var out codex.Permissions
	list := places(asked)
	chosen := map[place]bool{}
	for _, id := range ids {
		if id == "network" && asksNetwork(asked) {
			yes := true
			out.Network = &codex.NetworkPermissions{Enabled: &yes}
			continue
		}
		i, err := strconv.Atoi(id)
		if err != nil || i < 0 || i >= len(list) || strconv.Itoa(i) != id || list[i].access == "deny" {
			return codex.Permissions{}, invalid("not_asked", "permission "+id)
		}
		chosen[list[i]] = true
	}
	if len(chosen) == 0 {
		return out, nil
	}
	has := func(access, path string) bool { return chosen[place{kind: "path", access: access, value: path}] }
	f := &codex.FilePermissions{}
	for _, path := range asked.FileSystem.Read {
		if has("read", path) {
			f.Read = append(f.Read, path)
		}
	}
	for _, path := range asked.FileSystem.Write {
		if has("write", path) {
			f.Write = append(f.Write, path)
		}
	}
	globs := false
	for _, e := range asked.FileSystem.Entries {
		if p := placeOf(e); chosen[p] || p.access == "deny" {
			f.Entries = append(f.Entries, e)
			globs = globs || p.kind == "pattern"
		}
	}
	if globs {
		f.GlobScanMaxDepth = asked.FileSystem.GlobScanMaxDepth
	}
	out.FileSystem = f
	return out, nil
}

// listed are the members that this version understands, per kind of object in a permission profile.
var listed = map[string]map[string]string{ // kind → member → kind of its value, "" for a plain one
	"profile": {"fileSystem": "files", "network": "network"},
	"network": {"enabled": ""},
	"files":   {"read": "", "write": "", "entries": "entry", "globScanMaxDepth": ""},
	"entry":   {"path": "path", "access": ""},
	"path":    {"type": "", "path": "", "pattern": "", "value": "special"},
	"special": {"kind": "", "path": "", "subpath": ""},
}

// unlisted returns the name of a member of a permission profile that is not understood, "" if there is none. Such a
// member would be granted unseen, or dropped unseen; both are wrong.
func unlisted(profile []byte) string {
	if len(profile) == 0 {
		return ""
	}
	var tree any
	if err := strictjson.UnmarshalOpen(profile, codex.MaxMessage, &tree); err != nil {
		return "?"
	}
	return unlistedIn("profile", tree)
}

func unlistedIn(kind string, v any) string {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			next, ok := listed[kind][name]
			if !ok {
				return name
			}
			if next != "" {
				if found := unlistedIn(next, v[name]); found != "" {
					return found
				}
			}
		}
	case []any:
		for _, e := range v {
			if found := unlistedIn(kind, e); found != "" {
				return found
			}
		}
	}
	return ""
}
