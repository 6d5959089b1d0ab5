package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"sekisho/internal/agent"
)

// entry is one task of a plan text; members are overridden by JSON fragments, and "-" leaves a member out.
func entry(id string, over map[string]string) string {
	members := map[string]string{
		"id": `"` + id + `"`, "description": `"do ` + id + `"`, "depends_on": `[]`, "budget_class": `"1K"`,
		"optimistic_tokens": `100`, "most_likely_tokens": `200`, "pessimistic_tokens": `400`,
		"requires_external_effect": `false`, "required_tools": `["file_read"]`,
	}
	for k, v := range over {
		members[k] = v
	}
	var out []string
	for _, k := range []string{"id", "description", "depends_on", "budget_class", "optimistic_tokens", "most_likely_tokens", "pessimistic_tokens", "requires_external_effect", "required_tools"} {
		if members[k] != "-" {
			out = append(out, `"`+k+`":`+members[k])
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

func planText(entries ...string) []byte {
	return []byte(`{"tasks":[` + strings.Join(entries, ",") + `]}`)
}

func mustPlan(t *testing.T, entries ...string) *TaskGraph {
	t.Helper()
	g, err := ParsePlan(planText(entries...), 32)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// proves A-PLAN-01, A-PLAN-08
func TestParsePlanKeepsWhatThePlanSays(t *testing.T) {
	g := mustPlan(t,
		entry("t1", map[string]string{"description": `"read /w/a b.txt \"verbatim\""`}),
		entry("t2", map[string]string{"depends_on": `["t1"]`, "budget_class": `"128K"`, "pessimistic_tokens": `131072`, "requires_external_effect": `true`, "required_tools": `["file_edit","process_run"]`}))
	want := []Task{
		{ID: "t1", Description: `read /w/a b.txt "verbatim"`, DependsOn: []string{}, State: agent.Queued, Budget: "1K", Estimate: TokenEstimate{100, 200, 400}, RequiredTools: []string{"file_read"}},
		{ID: "t2", Description: "do t2", DependsOn: []string{"t1"}, State: agent.Queued, Budget: "128K", Estimate: TokenEstimate{100, 200, 131072}, RequiresExternalEffect: true, RequiredTools: []string{"file_edit", "process_run"}},
	}
	if d := cmp.Diff(want, g.Tasks()); d != "" {
		t.Error(d)
	}
}

// proves A-PLAN-02, A-PLAN-04, A-PLAN-11, A-PRI-01
func TestParsePlanRefuses(t *testing.T) {
	coding := map[string]string{"required_tools": `["file_edit","process_run"]`, "requires_external_effect": `true`}
	with := func(m map[string]string, k, v string) map[string]string {
		out := map[string]string{k: v}
		for a, b := range m {
			if a != k {
				out[a] = b
			}
		}
		return out
	}
	edit := map[string]string{"required_tools": `["file_edit"]`, "requires_external_effect": `true`}
	var many []string
	for i := range 33 {
		many = append(many, entry(fmt.Sprintf("t%d", i), nil))
	}
	for _, c := range []struct {
		name, plan, reason string
	}{
		{"not JSON", "Here is the plan:\n```json\n{\"tasks\": []}\n```\nLet me know!", "not exactly one JSON object"},
		{"two values", `{"tasks":[]}{"tasks":[]}`, "not exactly one JSON object"},
		{"unknown member", `{"tasks":[],"note":"x"}`, "not exactly one JSON object"},
		{"duplicate member", `{"tasks":[],"tasks":[]}`, "not exactly one JSON object"},
		{"wrong case", `{"Tasks":[]}`, "not exactly one JSON object"},
		{"wrong type", string(planText(entry("t1", map[string]string{"optimistic_tokens": `"100"`}))), "not exactly one JSON object"},
		{"state in plan", string(planText(strings.TrimSuffix(entry("t1", nil), "}") + `,"state":"completed"}`)), "not exactly one JSON object"},
		{"no tasks member", `{}`, `"tasks" is missing`},
		{"empty", `{"tasks":[]}`, "has no task"},
		{"too many", string(planText(many...)), "merge"},
		{"missing effect", string(planText(entry("t1", map[string]string{"requires_external_effect": "-"}))), "task number 1 lacks requires_external_effect"},
		{"missing tools", string(planText(entry("t1", map[string]string{"required_tools": "-", "id": "-"}))), "lacks id, required_tools"},
		{"null tools", string(planText(entry("t1", map[string]string{"required_tools": "null"}))), "lacks required_tools"},
		{"duplicate id", string(planText(entry("t1", nil), entry("t1", nil))), "used by more than one task"},
		{"bad id", string(planText(entry("t 1", nil))), `the id "t 1" must be`},
		{"empty id", string(planText(entry("", nil))), `the id "" must be`},
		{"blank description", string(planText(entry("t1", map[string]string{"description": `" \n"`}))), "no description"},
		{"long description", string(planText(entry("t1", map[string]string{"description": `"` + strings.Repeat("あ", MaxDescriptionLength+1) + `"`}))), "characters, more than"},
		{"unknown tool", string(planText(entry("t1", map[string]string{"required_tools": `["bash"]`}))), `required_tools holds "bash"`},
		{"tool twice", string(planText(entry("t1", map[string]string{"required_tools": `["dir","dir"]`}))), `holds "dir" twice`},
		{"missing dependency", string(planText(entry("t1", map[string]string{"depends_on": `["t9"]`}))), `depends on "t9", which is not in the plan`},
		{"own dependency", string(planText(entry("t1", map[string]string{"depends_on": `["t1"]`}))), "depends on itself"},
		{"dependency twice", string(planText(entry("t1", nil), entry("t2", map[string]string{"depends_on": `["t1","t1"]`}))), "twice"},
		{"cycle", string(planText(entry("a", map[string]string{"depends_on": `["c"]`}), entry("b", map[string]string{"depends_on": `["a"]`}), entry("c", map[string]string{"depends_on": `["b"]`}))), "cycle: a -> c -> b -> a"},
		{"O is 0", string(planText(entry("t1", map[string]string{"optimistic_tokens": "0"}))), "0 < optimistic_tokens"},
		{"O above M", string(planText(entry("t1", map[string]string{"optimistic_tokens": "201"}))), "201, 200, 400"},
		{"M above P", string(planText(entry("t1", map[string]string{"most_likely_tokens": "401"}))), "100, 401, 400"},
		{"P above budget", string(planText(entry("t1", map[string]string{"pessimistic_tokens": "1025"}))), "<= 1024 (class 1K)"},
		{"unknown class", string(planText(entry("t1", map[string]string{"budget_class": `"3K"`}))), `budget_class "3K"`},
		{"effect without a side-effect tool", string(planText(entry("t1", map[string]string{"requires_external_effect": "true"}))), "must hold at least one of file_edit, process_run, dir"},
		{"edit then verify", string(planText(entry("t1", edit), entry("t2", with(coding, "depends_on", `["t1"]`)))), "are one task, so merge"},
		{"edit then verify, indirectly", string(planText(entry("t1", edit), entry("t2", map[string]string{"depends_on": `["t1"]`}), entry("t3", with(coding, "depends_on", `["t2"]`)))), `depends on task "t1"`},
		{"coding after coding", string(planText(entry("t1", coding), entry("t2", with(coding, "depends_on", `["t1"]`)))), "are one task, so merge"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := ParsePlan([]byte(c.plan), 32)
			var invalid *InvalidError
			if g != nil || !errors.As(err, &invalid) {
				t.Fatalf("got %v, %v", g, err)
			}
			if !strings.Contains(err.Error(), c.reason) {
				t.Errorf("reasons %q do not contain %q", invalid.Reasons, c.reason)
			}
		})
	}
}

// proves A-PLAN-11
func TestParsePlanAcceptsIndependentCodingTasks(t *testing.T) {
	coding := map[string]string{"required_tools": `["file_edit","process_run"]`, "requires_external_effect": `true`}
	mustPlan(t, entry("t1", coding), entry("t2", coding),
		entry("t3", map[string]string{"required_tools": `["file_edit"]`, "requires_external_effect": `true`, "depends_on": `["t1"]`}))
}

// proves A-PLAN-04
func TestReasonsAreBounded(t *testing.T) {
	var entries []string
	for i := range 32 {
		entries = append(entries, entry(fmt.Sprintf("t%d", i), map[string]string{"budget_class": `"` + strings.Repeat("x", 3) + `"`}))
	}
	_, err := ParsePlan(planText(entries...), 32)
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Reasons) != maxReasons+1 || !strings.Contains(err.Error(), "20 more") {
		t.Fatalf("got %v", err)
	}
}

// proves A-PLAN-04, A-OLL-08
func TestSchemaBoundsEverythingAndAcceptsAPlan(t *testing.T) {
	raw := Schema(7)
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text []byte) bool {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(v) == nil
	}
	if !valid(planText(entry("t1", nil))) {
		t.Error("a plan does not validate")
	}
	if valid(planText()) || valid(planText(entry("t1", map[string]string{"required_tools": "-"}))) || valid(planText(entry("t1", map[string]string{"required_tools": `["bash"]`}))) {
		t.Error("a bad plan validates")
	}
	var walk func(path string, s *jsonschema.Schema)
	walk = func(path string, s *jsonschema.Schema) {
		switch s.Type {
		case "string":
			if s.MaxLength == nil && s.Enum == nil {
				t.Errorf("%s: a string without a limit", path)
			}
			if s.MaxLength != nil && *s.MaxLength > 2000 {
				t.Errorf("%s: maxLength %d is more than a grammar may repeat", path, *s.MaxLength)
			}
		case "array":
			if s.MaxItems == nil {
				t.Errorf("%s: an array without a limit", path)
			}
			walk(path+"[]", s.Items)
		case "object":
			if d := cmp.Diff(len(s.Properties), len(s.Required)); d != "" {
				t.Errorf("%s: optional members: %s", path, d)
			}
			for name, p := range s.Properties {
				walk(path+"."+name, p)
			}
		}
	}
	walk("", &s)
	if got := *s.Properties["tasks"].MaxItems; got != 7 {
		t.Errorf("maxItems %d, want 7", got)
	}
}

func FuzzParsePlan(f *testing.F) {
	f.Add(planText(entry("t1", nil), entry("t2", map[string]string{"depends_on": `["t1"]`})))
	f.Add([]byte(`{"tasks":[]}`))
	f.Add([]byte(strings.Repeat("[", 300)))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := ParsePlan(data, 32)
		if err != nil {
			if g != nil {
				t.Fatal("a graph and an error")
			}
			return
		}
		if reasons := check(g.Tasks(), 32); len(reasons) > 0 {
			t.Fatalf("accepted an invalid plan: %v", reasons)
		}
		if _, ok := g.Next(); !ok {
			t.Fatal("nothing can start")
		}
	})
}
