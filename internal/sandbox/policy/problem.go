package policy

import (
	"fmt"
	"strings"

	"sekisho/internal/fault"
)

// Section names the part of SandboxPolicy that a Problem is about; with Index and Field it leads to the configuration's
// line.
type Section string

// The sections.
const (
	InProfile     Section = "sandbox.profile"
	InWorkspaces  Section = "sandbox.workspaces"
	InMounts      Section = "sandbox.mounts"
	InEntries     Section = "sandbox.execution.entries"
	InEnvironment Section = "sandbox.environment"
	InAccess      Section = "sandbox.network.access"
	InLocal       Section = "sandbox.network.local_endpoints"
	InRestricted  Section = "sandbox.network.restricted_endpoints"
	InResources   Section = "sandbox.resources"
	InOSRuntime   Section = "os_runtime_root" // not declared anywhere: a defect of the caller
)

// Problem is one reason why a policy does not compile.
type Problem struct {
	Section Section
	// Index is the position in the section's list, or -1.
	Index int
	// Field is the key inside the list item or section, such as "path", "runtime_root", "memory_mb"; or "".
	Field string
	// Fault is coded configuration.invalid or configuration.feature_unavailable, with a variant and arguments.
	Fault *fault.Error
}

// Where is the problem's place as a key path, such as "sandbox.mounts[1].access".
func (p Problem) Where() string {
	s := string(p.Section)
	if p.Index >= 0 {
		s += fmt.Sprintf("[%d]", p.Index)
	}
	if p.Field != "" {
		s += "." + p.Field
	}
	return s
}

// Problems is every reason at once. It is an error when it is not empty.
type Problems []Problem

// Error is the form for logs.
func (p Problems) Error() string {
	var lines []string
	for _, x := range p {
		lines = append(lines, x.Where()+": "+x.Fault.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the faults to errors.As and errors.Is.
func (p Problems) Unwrap() []error {
	var errs []error
	for _, x := range p {
		errs = append(errs, x.Fault)
	}
	return errs
}
