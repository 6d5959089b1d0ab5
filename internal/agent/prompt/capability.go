package prompt

import (
	"fmt"
	"strings"
)

// Capability is the sandbox capability summary (context item 5) as rows: what is available, not the policy behind it.
type Capability struct {
	Profile  string
	Roots    []Root
	Programs []Program
	Network  string // a sentence fragment, such as "none"
	Limits   string // a sentence fragment
}

// Root is one directory tree, or one file, with its rights in words. Declared are other paths that lead to it, as a person
// wrote them in the configuration.
type Root struct {
	Path, Rights string
	Declared     []string
}

// Program is one approved alias.
type Program struct{ Alias, Kind string }

// String renders the summary for the model.
func (c Capability) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "What this sandbox allows (profile %s). Everything else is denied.\n", c.Profile)
	b.WriteString("Directories and files:\n")
	for _, r := range c.Roots {
		fmt.Fprintf(&b, "- %s: %s", r.Path, r.Rights)
		if len(r.Declared) > 0 {
			fmt.Fprintf(&b, " (also known as %s)", strings.Join(r.Declared, ", "))
		}
		b.WriteString("\n")
	}
	if len(c.Roots) == 0 {
		b.WriteString("- none\n")
	}
	b.WriteString("Programs that process_run can start, by alias:\n")
	for _, p := range c.Programs {
		fmt.Fprintf(&b, "- %s (%s)\n", p.Alias, p.Kind)
	}
	if len(c.Programs) == 0 {
		b.WriteString("- none\n")
	}
	fmt.Fprintf(&b, "Network: %s\n", c.Network)
	fmt.Fprintf(&b, "Limits: %s", c.Limits)
	return b.String()
}
