package runtime

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/visible"
)

// Bounds of what is told about objects in quarantine: lines of the audit, names in agent_status.
const (
	auditedQuarantined = 200
	shownQuarantined   = 3
)

// quarantined audits what the task's processes left for the host's tools, and keeps the sentence that agent_status shows
// (A-POL-13). Nothing of it changes how the task ended.
func (x *run) quarantined() *ending {
	left := x.job.Quarantined()
	for i, q := range left {
		if i == auditedQuarantined {
			e := audit.Event{Event: audit.FileQuarantine, Path: q.Path, Destination: q.To, Reason: "and more: see the quarantine's index"}
			if end := x.audit(e); end != nil {
				return end
			}
			break
		}
		e := audit.Event{Event: audit.FileQuarantine, Path: q.Path, Destination: q.To}
		if q.To == "" {
			e.Reason = "replaced_meanwhile"
		}
		if end := x.audit(e); end != nil {
			return end
		}
	}
	moved := slices.DeleteFunc(slices.Clone(left), func(q sandbox.Quarantined) bool { return q.To == "" })
	replaced := slices.DeleteFunc(slices.Clone(left), func(q sandbox.Quarantined) bool { return q.To != "" })
	var texts []string
	if len(moved) > 0 {
		texts = append(texts, x.localized(fault.New(fault.PolicyDenied, fault.Variant("quarantined"), fault.Arg("paths", named(moved)),
			fault.Arg("place", visible.Escape(path.Dir(moved[0].To))))))
	}
	if len(replaced) > 0 {
		texts = append(texts, x.localized(fault.New(fault.PolicyDenied, fault.Variant("replaced"), fault.Arg("paths", named(replaced)))))
	}
	x.task.left = x.deps.Texts.Join(texts...)
	return nil
}

// named lists the first paths, and how many there are when those are not all.
func named(left []sandbox.Quarantined) string {
	var names []string
	for _, q := range left[:min(len(left), shownQuarantined)] {
		names = append(names, visible.Escape(q.Path))
	}
	s := strings.Join(names, ", ")
	if n := len(left) - len(names); n > 0 {
		s += " (+" + strconv.Itoa(n) + ")"
	}
	return s
}
