package config

import (
	"path/filepath"
	"strings"

	"sekisho/internal/agent/config/applied"
	"sekisho/internal/yamltree"
)

// Shipped caps of A-SBX-08, in MiB.
const (
	shippedTempMB = 4096
	shippedHomeMB = 8192
)

// CgroupAuto lets the backend find a place for its cgroups.
const CgroupAuto = "auto"

func (s *sections) sandbox(m *yamltree.Section) {
	defer m.Done()
	c := &s.c.Sandbox
	c.Profile = m.Key("profile").Enum(ProfileDevelopment, ProfileReadonly, ProfileDevelopment)
	for _, item := range m.Key("workspaces").List() {
		if p := s.path(item); p.Abs != "" {
			c.Workspaces = append(c.Workspaces, p)
		}
	}
	for _, item := range m.Key("mounts").List() {
		s.mount(item)
	}
	execution := m.Key("execution").Section()
	for _, item := range execution.Key("entries").List() {
		s.entry(item)
	}
	execution.Done()
	c.Environment = environment(m.Key("environment"))
	c.TempMB = count(m.Key("temp_mb"), shippedTempMB)
	c.HomeMB = count(m.Key("home_mb"), shippedHomeMB)
	c.AllowToolConfigWrites = m.Key("allow_tool_config_writes").Bool(false)
	s.network(m.Key("network").Section())
	s.resources(m.Key("resources").Section())
}

func (s *sections) mount(item yamltree.Value) {
	if !shaped(item, "config.accepts.mount") {
		return
	}
	m := item.Section()
	defer m.Done()
	path, access := m.Key("path"), m.Key("access")
	allowed := applied.MountAccesses
	if s.c.Sandbox.Profile == ProfileReadonly {
		allowed = allowed[:1] // A-POL-01
	}
	mount := Mount{Item: item.Path()}
	if path.Required() {
		mount.Path = s.path(path)
	}
	if access.Required(allowed...) {
		mount.Access = access.Enum("", allowed...)
	}
	if mount.Abs != "" {
		s.c.Sandbox.Mounts = append(s.c.Sandbox.Mounts, mount)
	}
}

func (s *sections) entry(item yamltree.Value) {
	if !shaped(item, "config.accepts.entry") {
		return
	}
	m := item.Section()
	defer m.Done()
	alias, path, runtime, env := m.Key("alias"), m.Key("path"), m.Key("runtime_root"), m.Key("environment")
	e := Entry{Key: item.Path(), RuntimeRoot: s.path(runtime), Environment: environment(env)}
	if path.Required() {
		e.Path = s.path(path)
	}
	e.Alias = s.alias(alias)
	s.c.Sandbox.Entries = append(s.c.Sandbox.Entries, e)
}

// alias returns a usable alias, or "" when a problem was recorded.
func (s *sections) alias(v yamltree.Value) string {
	if !v.Required() {
		return ""
	}
	alias := v.Text("")
	if !applied.ValidAlias(alias) {
		if v.Node().Kind == yamltree.String {
			v.Fail(yamltree.T("config.alias.form", "value", alias), yamltree.T("config.accepts.alias"))
		}
		return ""
	}
	for _, other := range s.c.Sandbox.Entries { // A-POL-04
		if strings.EqualFold(other.Alias, alias) {
			v.Fail(yamltree.T("config.alias.twice", "value", alias, "other", other.Key), yamltree.Text{})
			return ""
		}
	}
	return alias
}

// shaped requires an item of a list to be a map, and shows its form when it is not.
func shaped(item yamltree.Value, form string) bool {
	if item.Present() && item.Node().Kind != yamltree.Map {
		item.Fail(yamltree.T("yaml.wrong_type", "value", item.Shown()), yamltree.T(form))
		return false
	}
	return item.Present()
}

// environment reads literal variables; the policy judges their names (A-SBX-08).
func environment(v yamltree.Value) map[string]string {
	vars := map[string]string{}
	for _, e := range v.Free() {
		vars[e.Name] = e.Value.Text("")
	}
	return vars
}

func (s *sections) resources(m *yamltree.Section) {
	defer m.Done()
	c := &s.c.Sandbox.Resources
	c.Profile = m.Key("profile").Enum("normal", "constrained", "normal", "extended")
	c.MemoryMB = count(m.Key("memory_mb"), 0)
	c.ProcessLimit = count(m.Key("process_limit"), 0)
	c.TimeoutSeconds = count(m.Key("execution_timeout_seconds"), 0)
	cgroup := m.Key("cgroup")
	c.Cgroup = cgroup.Text(CgroupAuto)
	if c.Cgroup != CgroupAuto && !filepath.IsAbs(c.Cgroup) {
		cgroup.Fail(yamltree.T("yaml.not_allowed", "value", cgroup.Shown()), yamltree.T("config.accepts.cgroup"))
	}
}
