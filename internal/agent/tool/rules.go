package tool

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"sekisho/internal/agent"
	"sekisho/internal/agent/tool/charset"
	"sekisho/internal/agent/tool/schema"
	"sekisho/internal/fault"
)

// The typed arguments of the tools, made by parse. What each member may be is said in the catalogue.
type (
	searchArgs struct {
		root, mode, query     string
		maxResults, tailLines int
		expr                  *regexp.Regexp // of mode regex
	}
	readArgs struct {
		path, mode    string
		start, length int64
	}
	editArgs struct {
		path, operation                 string
		content, patch, sha256, newPath *string
	}
	runArgs struct {
		executable, cwd string
		args            []string
		timeoutSeconds  int64
		stdin           *string
	}
	dirArgs struct{ path, operation string }
)

// maxArgBytes bounds argv of process_run as a whole, below the kernel's own limit of 2 MiB for arguments and environment.
const maxArgBytes = 1 << 20

// Bounds on the braces of a glob: alternatives multiply, and each is tried on every path.
const (
	maxBraces       = 4
	maxAlternatives = 16
)

// parse turns a call into typed arguments, or a *fault.Error with tool.unknown or tool.arguments_invalid. It is pure.
func parse(call agent.ToolCall) (any, error) {
	s, ok := find(call.Name)
	if !ok {
		return nil, unknownTool(call.Name)
	}
	raw := call.Arguments
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	v, err := s.Decode(raw)
	if err != nil {
		return nil, err
	}
	var p schema.Problems
	var args any
	switch call.Name {
	case agent.ToolFileSearch:
		args = parseSearch(v, &p)
	case agent.ToolFileRead:
		args = parseRead(v, &p)
	case agent.ToolFileEdit:
		args = parseEdit(v, &p)
	case agent.ToolProcessRun:
		args = parseRun(v, &p)
	case agent.ToolTaskUpdate:
		args = parseUpdate(v, &p)
	case agent.ToolDir:
		args = dirArgs{path: v.Text("path"), operation: v.Text("operation")}
	}
	return args, p.Err()
}

func unknownTool(name string) error {
	say := `name: there is no tool "` + charset.Clip(charset.Printable([]byte(name)), 60) + `"; the tools are ` + strings.Join(toolNames, ", ")
	for _, known := range toolNames {
		// A prefix such as "functions." is a common slip of models; the call is still refused.
		if name != "" && strings.HasSuffix(strings.ToLower(name), known) {
			say += "; did you mean " + known + "?"
		}
	}
	return fault.New(fault.ToolUnknown, fault.Target("name"), fault.Cause(errors.New(say)))
}

func parseSearch(v schema.Values, p *schema.Problems) searchArgs {
	a := searchArgs{
		root: v.Text("root"), mode: v.Text("mode"), query: v.Text("query"),
		maxResults: int(v.Integer("max_results")), tailLines: int(v.Integer("tail_lines")),
	}
	if a.mode != "tail" && a.query == "" {
		p.Add("query", "required and not empty in mode %s", a.mode)
		return a
	}
	switch a.mode {
	case "glob":
		if !doublestar.ValidatePattern(a.query) {
			p.Add("query", "not a valid glob pattern")
		} else if strings.Count(a.query, "{") > maxBraces || strings.Count(a.query, ",") > maxAlternatives {
			p.Add("query", "at most %d braces with %d commas in all are allowed", maxBraces, maxAlternatives)
		} else if strings.HasPrefix(a.query, "/") || slices.Contains(strings.Split(a.query, "/"), "..") {
			p.Add("query", `a glob pattern is relative to root: no leading / and no ".."`)
		}
	case "regex":
		expr, err := regexp.Compile(a.query)
		if err != nil {
			p.Add("query", "not a valid RE2 expression: %v", err)
		}
		a.expr = expr
	}
	return a
}

func parseRead(v schema.Values, p *schema.Problems) readArgs {
	a := readArgs{path: v.Text("path"), mode: v.Text("mode"), start: v.Integer("start"), length: v.Integer("length")}
	if a.mode != "range" {
		if a.start != 0 {
			p.Add("start", "only for mode range")
		}
		if a.length != 0 {
			p.Add("length", "only for mode range")
		}
	}
	return a
}

func parseEdit(v schema.Values, p *schema.Problems) editArgs {
	a := editArgs{
		path: v.Text("path"), operation: v.Text("operation"),
		content: v.Optional("content"), patch: v.Optional("patch"), sha256: v.Optional("expected_sha256"), newPath: v.Optional("new_path"),
	}
	// Models fill members that they do not need with ""; for a member that an operation does not use, "" is null.
	use := func(name string, s **string, operations ...string) {
		needed := slices.Contains(operations, a.operation)
		switch {
		case needed && *s == nil:
			p.Add(name, "required for %s", a.operation)
		case !needed && *s != nil && **s != "":
			p.Add(name, "must be null for %s", a.operation)
		case !needed:
			*s = nil
		}
	}
	use("content", &a.content, "overwrite", "atomic_replace")
	use("patch", &a.patch, "patch")
	use("new_path", &a.newPath, "rename")
	if a.sha256 != nil && *a.sha256 == "" {
		a.sha256 = nil
	}
	if a.sha256 != nil {
		lower := strings.ToLower(*a.sha256)
		if b, err := hex.DecodeString(lower); err != nil || len(b) != 32 {
			p.Add("expected_sha256", "must be 64 hex digits or null")
		}
		a.sha256 = &lower
	}
	return a
}

func parseRun(v schema.Values, p *schema.Problems) runArgs {
	a := runArgs{
		executable: v.Text("executable"), cwd: v.Text("cwd"), args: v.Texts("args"),
		timeoutSeconds: v.Integer("timeout_seconds"), stdin: v.Optional("stdin"),
	}
	total := 0
	for _, arg := range a.args {
		total += len(arg) + 1
	}
	if total > maxArgBytes {
		p.Add("args", "are %d bytes in all, at most %d are allowed", total, maxArgBytes)
	}
	return a
}

func parseUpdate(v schema.Values, p *schema.Problems) GraphUpdate {
	u := GraphUpdate{
		Operation: v.Text("operation"), TaskID: v.Text("task_id"), Description: v.Text("description"),
		DependsOn: v.Texts("depends_on"), BudgetClass: v.Text("budget_class"),
		Optimistic: v.Integer("optimistic_tokens"), MostLikely: v.Integer("most_likely_tokens"), Pessimistic: v.Integer("pessimistic_tokens"),
		RequiresExternalEffect: v.Flag("requires_external_effect"), RequiredTools: v.Texts("required_tools"),
	}
	need := func(name string, missing bool) {
		if missing {
			p.Add(name, "required for %s", u.Operation)
		}
	}
	need("task_id", u.Operation != UpdateAdd && u.TaskID == "")
	need("description", u.Operation == UpdateAdd && strings.TrimSpace(u.Description) == "")
	need("depends_on", u.Operation == UpdateAddDependency && len(u.DependsOn) == 0)
	need("requires_external_effect", u.Operation == UpdateAdd && u.RequiresExternalEffect == nil)
	if u.Operation != UpdateAddDependency {
		need("budget_class", u.BudgetClass == "")
		if !(0 < u.Optimistic && u.Optimistic <= u.MostLikely && u.MostLikely <= u.Pessimistic) {
			p.Add("optimistic_tokens", "the estimates must satisfy 0 < optimistic <= most likely <= pessimistic")
		}
	}
	return u
}
