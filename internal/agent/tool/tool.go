// Package tool holds the six internal tools that the model may call: their catalogue, the strict validation of their
// arguments, and their dispatch (spec section 5).
//
// Threat: everything in a call was written by a model that may have read hostile text. A call therefore passes, in this
// order, schema → scope → path resolution and policy.Decide on the resolved object → audit → effect, and each stage
// refuses without having looked further than it must: arguments that do not validate never reach the policy, a path that
// is denied is answered the same way whether or not anything lies there, and nothing takes effect before its audit line
// is written.
//
// Paths are resolved by rootio, which hands back descriptors: what was judged is what is read, written or run. File
// changes go through filetx, processes through sandbox.Job; the package itself opens and starts nothing.
package tool

import (
	"context"
	"slices"
	"sync"

	"sekisho/internal/agent"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/resolve"
	"sekisho/internal/sandbox/rootio"
)

// Limits bound what one call returns (keys limits.* of section 14). Zero values mean the shipped ones.
type Limits struct {
	WholeReadBytes   int64 // file_read: 1 MiB
	SearchMaxResults int   // file_search: 1000, never more
	TailMaxLines     int   // file_search tail: 10000, never more
}

// Texts gives the localized sentences of results; *locale.Catalogue implements it.
type Texts interface {
	Text(key string, args map[string]string) string
	Error(e *fault.Error) (sentence, remedy string)
	Join(sentences ...string) string
}

// Auditor writes one audit line before the effect that it announces; *audit.Writer implements it.
type Auditor interface{ Write(audit.Event) error }

// Deps are what a Dispatcher works with. All are required but Limits.
type Deps struct {
	Policy *sandbox.EffectivePolicy
	Roots  *rootio.Set // the roots of Policy
	Files  Changer
	Audit  Auditor
	Texts  Texts
	Limits Limits
}

// Scope is the place of one call: whose call it is, and what of that task it may touch.
type Scope struct {
	Session     string // session id
	Task        string // agent task id
	PlannerTask string // id of the running planner task
	// Required is the running planner task's required_tools: a side-effect tool outside it is not dispatched (A-PLAN-10).
	Required []string
	// Job gives the task's confined process tree; it is asked for only when a process really starts.
	Job func(ctx context.Context) (sandbox.Job, error)
	// Guards are those of the task's sandbox, sorted by path: what they keep from its processes they keep from the file tools.
	Guards []sandbox.Guard
	// Graph applies task_update to the running agent task's graph.
	Graph GraphEditor
}

// GraphUpdate is a validated task_update call (A-TOOL-05). Which members are meaningful depends on Operation.
type GraphUpdate struct {
	Operation              string // UpdateAdd, UpdateAddDependency, UpdateSetEstimate
	TaskID                 string // "" when the model gave null; never "" for add_dependency and set_estimate
	Description            string // never "" for add
	DependsOn              []string
	BudgetClass            string // "1K" ... "128K", or "" when the model gave null; never "" for add and set_estimate
	Optimistic             int64  // tokens; 0 < Optimistic <= MostLikely <= Pessimistic for add and set_estimate
	MostLikely             int64
	Pessimistic            int64
	RequiresExternalEffect *bool // nil when the model gave null; never nil for add
	RequiredTools          []string
}

// The operations of GraphUpdate.
const (
	UpdateAdd           = "add"
	UpdateAddDependency = "add_dependency"
	UpdateSetEstimate   = "set_estimate"
)

// GraphEditor applies one update to the running task graph, or changes nothing and says why. The Agent Runtime implements
// it over the Planner, which re-checks DAG, estimates, immutability of completed tasks and max_tasks (A-TOOL-05).
type GraphEditor interface {
	// Edit returns a short English text for the model about what is now so (such as the new task's id). The text of a
	// returned error goes to the model as the reason of the refusal; the model may try again with other arguments.
	Edit(ctx context.Context, u GraphUpdate) (string, error)
}

// Dispatcher validates and carries out internal tool calls. It is safe for concurrent use as far as its dependencies are;
// the Agent Runtime makes one call at a time.
type Dispatcher struct {
	deps    Deps
	entries resolve.Entries
}

// New returns a Dispatcher over deps.
func New(deps Deps) *Dispatcher {
	l := &deps.Limits
	if l.WholeReadBytes <= 0 {
		l.WholeReadBytes = 1 << 20
	}
	l.WholeReadBytes = min(l.WholeReadBytes, capReadBytes)
	if l.SearchMaxResults <= 0 || l.SearchMaxResults > capResults {
		l.SearchMaxResults = capResults
	}
	if l.TailMaxLines <= 0 || l.TailMaxLines > capTailLines {
		l.TailMaxLines = capTailLines
	}
	return &Dispatcher{deps: deps}
}

// Catalogue describes the six tools as they are sent to the model, always in the same order. The caller does not change
// their parameters.
func (d *Dispatcher) Catalogue() []agent.ToolSpec { return slices.Clone(specs()) }

// specs are made once, not for every model call: they depend on nothing.
var specs = sync.OnceValue(func() []agent.ToolSpec {
	all := make([]agent.ToolSpec, 0, len(catalogue))
	for _, s := range catalogue {
		all = append(all, s.Spec())
	}
	return all
})

// Validate reports whether call names a known tool and has arguments of its schema: nil, or a *fault.Error with
// tool.unknown or tool.arguments_invalid that names the field. It looks at nothing but the call.
func (d *Dispatcher) Validate(call agent.ToolCall) error {
	_, err := parse(call)
	return err
}
