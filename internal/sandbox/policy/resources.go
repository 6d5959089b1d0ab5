package policy

import (
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

// resources fills a profile's values in and applies the overrides (A-POL-07).
func (c *compiler) resources() sandbox.ResourcePolicy {
	in := c.in.Resources
	out, ok := profileResources[in.Profile]
	if !ok {
		c.invalid(InResources, -1, "profile", "policy_resource_profile", fault.Arg("value", in.Profile))
	}
	out.Profile = in.Profile
	for _, o := range []struct {
		key   string
		value int
		to    *int
		limit int
	}{
		{"memory_mb", in.MemoryMB, &out.MemoryMB, 1 << 40 / 1 << 20},
		{"process_limit", in.ProcessLimit, &out.ProcessLimit, 1 << 22}, // the kernel's PID_MAX_LIMIT
		{"execution_timeout_seconds", in.TimeoutSeconds, &out.TimeoutSeconds, 1 << 31},
	} {
		switch {
		case o.value < 0 || o.value > o.limit:
			c.invalid(InResources, -1, o.key, "policy_resource", fault.Arg("key", o.key), fault.Arg("value", o.value))
		case o.value > 0:
			*o.to = o.value
		}
	}
	out.Cgroup = in.Cgroup
	if out.Cgroup == "" {
		out.Cgroup = CgroupAuto
	}
	if out.Cgroup != CgroupAuto && !clean(out.Cgroup) {
		c.invalid(InResources, -1, "cgroup", "policy_resource", fault.Arg("key", "cgroup"), fault.Arg("value", out.Cgroup))
	}
	return out
}
