package runtime

import (
	"fmt"

	"sekisho/internal/agent/prompt"
	"sekisho/internal/audit"
	"sekisho/internal/sandbox"
)

// capability is what the model is told about the policy: paths, rights and aliases, no origins or hashes.
func capability(p *sandbox.EffectivePolicy) prompt.Capability {
	c := prompt.Capability{
		Profile: p.Profile, Network: network(p.Network),
		Limits: fmt.Sprintf("%d MiB memory, %d processes, %d seconds for one program", p.Resources.MemoryMB, p.Resources.ProcessLimit, p.Resources.TimeoutSeconds),
	}
	for _, r := range p.Roots {
		if !approvedFile(r) { // those are listed as programs
			c.Roots = append(c.Roots, prompt.Root{Path: r.Path, Rights: r.Rights.String(), Declared: p.DeclaredAs(r.Path)})
		}
	}
	for _, e := range p.Entries {
		kind := "program"
		if e.Class == sandbox.ClassShell {
			kind = "shell"
		}
		c.Programs = append(c.Programs, prompt.Program{Alias: e.Alias, Kind: kind})
	}
	return c
}

func approvedFile(r sandbox.Root) bool {
	for _, o := range r.Origins {
		if o != sandbox.OriginApprovedEntry && o != sandbox.OriginApprovedShell {
			return false
		}
	}
	return len(r.Origins) > 0
}

func network(n sandbox.NetworkPolicy) string {
	switch n.Access {
	case sandbox.NetworkLocal:
		return fmt.Sprintf("only these local TCP ports: %v", n.Local)
	case sandbox.NetworkRestricted:
		var hosts []string
		for _, e := range n.Restricted {
			hosts = append(hosts, fmt.Sprintf("%s %v", e.Host, e.Ports))
		}
		return fmt.Sprintf("only these hosts and TCP ports: %v", hosts)
	}
	return "none; every connection is refused"
}

// granted is the task.start event's list of OS capabilities and roots (A-AUD-01, A-POL-08).
func granted(p *sandbox.EffectivePolicy) ([]audit.Capability, []audit.Grant) {
	var caps []audit.Capability
	for _, b := range p.Baseline {
		caps = append(caps, audit.Capability{Name: b.Name, Identifier: b.Identifier, Origin: b.Origin, Condition: b.Condition})
	}
	for _, port := range p.Network.Local {
		caps = append(caps, audit.Capability{Name: "network local", Identifier: fmt.Sprintf("127.0.0.1:%d [::1]:%d", port, port), Origin: "sandbox.network.local_endpoints"})
	}
	for _, e := range p.Network.Restricted {
		for _, port := range e.Ports {
			caps = append(caps, audit.Capability{Name: "network restricted", Identifier: sandbox.HostPort(e.Host, port), Origin: "sandbox.network.restricted_endpoints",
				Condition: "the addresses that network.rule.apply names"})
		}
	}
	var grants []audit.Grant
	for _, r := range p.Roots {
		g := audit.Grant{Path: r.Path, DeclaredAs: p.DeclaredAs(r.Path), Rights: r.Rights.String()}
		for _, o := range r.Origins {
			g.Origins = append(g.Origins, string(o))
		}
		grants = append(grants, g)
	}
	return caps, grants
}
