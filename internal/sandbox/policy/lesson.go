package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sekisho/internal/sandbox"
)

// Lesson says what a denial is about, so that the next call can be a better one (A-SBX-10). It is made of the policy and of the
// path that was asked for, never of what lies there: it is the same whether anything does.
type Lesson struct {
	// Rule is the rule in one clause, Origin the configuration key or decision that it comes from.
	Rule, Origin string
	// Nearest is the allowed path or endpoint that is closest to what was asked for, or "".
	Nearest string
}

// String is the lesson as clauses of a sentence.
func (l Lesson) String() string {
	s := "rule: " + l.Rule + "; origin: " + l.Origin
	if l.Nearest != "" {
		s += "; nearest allowed: " + l.Nearest
	}
	return s
}

// rules are the lessons of refusals that no root decides.
var rules = map[string]Lesson{
	"link_cycle":    {Rule: "a path may lead through 40 symbolic links at most", Origin: "path resolution"},
	"special_file":  {Rule: "only regular files and directories are opened, no pipe, socket or device", Origin: "path resolution"},
	"mount_point":   {Rule: "a mount inside a root is not part of it", Origin: "sandbox.workspaces and sandbox.mounts, which do not list it"},
	"magic_link":    {Rule: "links of a process file system are not followed", Origin: "path resolution"},
	"os_permission": {Rule: "the file's own permissions hold", Origin: "owner and mode of the file"},
}

// Teach explains the denial of want on name for reason, one of the Reasons or of the variants that path resolution
// answers with.
func Teach(p *sandbox.EffectivePolicy, reason, name string, want sandbox.Rights, guards []sandbox.Guard) Lesson {
	root := rootOf(p, name)
	switch {
	case reason == ReasonToolConfig:
		l := Lesson{Rule: "what this machine or its tools run later is not changed", Origin: "sandbox.allow_tool_config_writes is false"}
		if root != nil {
			l.Nearest = outsideToolConfig(root.Path, name)
		}
		return l
	case reason == ReasonHardLinks:
		l := Lesson{Rule: "a directory whose files are also linked from outside is read-only", Origin: "hard links found when the task began"}
		if g := GuardOf(guards, name); g != nil {
			l.Nearest = path.Dir(g.Path)
		}
		return l
	case reason == ReasonMissingRight && root != nil:
		return Lesson{Rule: root.Path + " grants only " + root.Rights.String(), Origin: origins(p, root), Nearest: nearest(p, name, want)}
	case reason == ReasonNotAllowlisted, reason == ReasonMissingRight:
		return Lesson{Rule: "only what lies below a listed directory is accessible", Origin: "sandbox.workspaces and sandbox.mounts", Nearest: nearest(p, name, want)}
	}
	l, ok := rules[reason]
	if !ok {
		l = Lesson{Rule: reason, Origin: "the applied configuration"}
	}
	l.Nearest = nearest(p, name, want)
	return l
}

// TeachNetwork explains why a connection failed that the policy does not list.
func TeachNetwork(n sandbox.NetworkPolicy) Lesson {
	l := Lesson{Rule: "there is no network", Origin: "sandbox.network.access is none"}
	switch n.Access {
	case sandbox.NetworkLocal:
		l = Lesson{Rule: "only listed TCP ports of this machine are reachable", Origin: "sandbox.network.local_endpoints"}
		for _, port := range n.Local {
			l.Nearest += fmt.Sprintf(", 127.0.0.1:%d", port)
		}
	case sandbox.NetworkRestricted:
		l = Lesson{Rule: "only listed hosts and TCP ports are reachable", Origin: "sandbox.network.restricted_endpoints"}
		for _, e := range n.Restricted {
			for _, port := range e.Ports {
				l.Nearest += fmt.Sprintf(", %s:%d", e.Host, port)
			}
		}
	}
	l.Nearest = strings.TrimPrefix(l.Nearest, ", ")
	return l
}

// origins names the keys that gave a root its rights.
func origins(p *sandbox.EffectivePolicy, root *sandbox.Root) string {
	var keys []string
	for _, o := range root.Origins {
		key := string(o)
		switch o {
		case sandbox.OriginWorkspace:
			key = "sandbox.workspaces with sandbox.profile " + p.Profile
		case sandbox.OriginMount:
			key = "sandbox.mounts, its access"
		case sandbox.OriginRuntimeRoot:
			key = "runtime_root of sandbox.execution.entries"
		case sandbox.OriginOSRuntimeRoot:
			key = "the system's own programs and libraries"
		case sandbox.OriginApprovedEntry, sandbox.OriginApprovedShell:
			key = "sandbox.execution.entries"
		}
		keys = append(keys, key)
	}
	return strings.Join(keys, " and ")
}

// nearest is the directory root with the rights that has the most leading elements in common with name. The system's own
// directories are named only to who asks for something that they give and nothing else gives.
func nearest(p *sandbox.EffectivePolicy, name string, want sandbox.Rights) string {
	best, most := "", -1
	for i := range p.Roots {
		r := &p.Roots[i]
		if r.File || !r.Rights.Has(want) || slices.Contains(r.Origins, sandbox.OriginOSRuntimeRoot) {
			continue
		}
		if n := common(r.Path, name); n > most {
			best, most = r.Path, n
		}
	}
	return best
}

// common counts the leading elements that two absolute paths share.
func common(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(path.Clean("/"+b), "/")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}

// outsideToolConfig is the last directory on the way from root to name in which a tool works, and which is none of its own.
func outsideToolConfig(root, name string) string {
	dir, place := root, Start(root)
	for e := range strings.SplitSeq(strings.Trim(strings.TrimPrefix(name, root), "/"), "/") {
		if place = place.Enter(e, true, true); place != Tree && place != Free && place != GitData {
			break
		}
		dir = path.Join(dir, e)
	}
	return dir
}

// TeachProgram explains why executable, as it was asked for, does not start. variant is that of the refusal.
func TeachProgram(p *sandbox.EffectivePolicy, executable, variant string) Lesson {
	l := Lesson{Rule: "only approved programs start, by their alias", Origin: "sandbox.execution.entries"}
	var below []string
	for _, r := range p.Roots {
		if !r.File && classOf(p, path.Join(r.Path, "x")) != "" {
			below = append(below, r.Path)
		}
	}
	if len(below) > 0 {
		l.Rule += ", and programs below " + strings.Join(below, ", ") + " by their path"
	}
	if variant == "alias_required" {
		l.Rule = "an approved program starts by its alias only"
	}
	for _, e := range p.Entries {
		if e.Path == executable || strings.EqualFold(e.Alias, path.Base(executable)) || path.Base(e.Path) == path.Base(executable) {
			l.Nearest = "the alias " + e.Alias
			break
		}
	}
	return l
}
