package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sekisho/internal/sandbox"
)

// Group orders the rows of a permission matrix.
type Group string

// The groups, in the order of Matrix.
const (
	GroupRoot        Group = "root"
	GroupLink        Group = "link"
	GroupEntry       Group = "entry"
	GroupNetwork     Group = "network"
	GroupResource    Group = "resource"
	GroupBaseline    Group = "baseline"
	GroupEnvironment Group = "environment"
)

// Row is one line of the permission matrix. Its texts are data, in no language.
type Row struct {
	Group Group
	// Subject is a path, an alias, an endpoint, a limit's key, a baseline grant's name, a variable.
	Subject string
	// Rights of a root or entry.
	Rights sandbox.Rights
	// Value: "directory" or "file" of a root; where a link, which is declared as Subject, leads; the resolved path of an entry; a limit; an identifier; a value.
	Value string
	// Origins of the grant; for an entry its class, for a baseline grant its origin and condition.
	Origins []string
}

// Matrix lists every grant of p for show, audit and the capability summary.
func Matrix(p *sandbox.EffectivePolicy) []Row {
	var rows []Row
	for _, r := range p.Roots {
		row := Row{Group: GroupRoot, Subject: r.Path, Rights: r.Rights, Value: "directory"}
		if r.File {
			row.Value = "file"
		}
		for _, o := range r.Origins {
			row.Origins = append(row.Origins, string(o))
		}
		rows = append(rows, row)
	}
	for _, l := range p.Links {
		rows = append(rows, Row{Group: GroupLink, Subject: l.Path, Value: l.Target})
	}
	for _, e := range p.Entries {
		rows = append(rows, Row{Group: GroupEntry, Subject: e.Alias, Rights: sandbox.Read | sandbox.Execute, Value: e.Path, Origins: []string{string(e.Class)}})
	}
	rows = append(rows, networkRows(p.Network)...)
	r := p.Resources
	rows = append(rows,
		Row{Group: GroupResource, Subject: "profile", Value: r.Profile},
		Row{Group: GroupResource, Subject: "memory_mb", Value: strconv.Itoa(r.MemoryMB)},
		Row{Group: GroupResource, Subject: "process_limit", Value: strconv.Itoa(r.ProcessLimit)},
		Row{Group: GroupResource, Subject: "execution_timeout_seconds", Value: strconv.Itoa(r.TimeoutSeconds)},
		Row{Group: GroupResource, Subject: "cgroup", Value: r.Cgroup},
	)
	for _, b := range p.Baseline {
		rows = append(rows, Row{Group: GroupBaseline, Subject: b.Name, Value: b.Identifier, Origins: []string{b.Origin, b.Condition}})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Environment)) {
		rows = append(rows, Row{Group: GroupEnvironment, Subject: name, Value: p.Environment[name]})
	}
	return rows
}

func networkRows(n sandbox.NetworkPolicy) []Row {
	rows := []Row{{Group: GroupNetwork, Subject: "access", Value: n.Access}}
	for _, port := range n.Local {
		rows = append(rows, Row{Group: GroupNetwork, Subject: "local", Value: strconv.Itoa(port)})
	}
	for _, e := range n.Restricted {
		rows = append(rows, Row{Group: GroupNetwork, Subject: e.Host, Value: strings.Trim(fmt.Sprint(e.Ports), "[]")})
	}
	return rows
}
