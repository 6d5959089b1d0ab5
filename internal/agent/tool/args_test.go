package tool

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

var update = flag.Bool("update", false, "rewrite golden files")

// proves A-TOOL-01, A-TOOL-02, A-TOOL-03, A-TOOL-04, A-TOOL-05, A-TOOL-06
func TestCatalogueGolden(t *testing.T) {
	var b bytes.Buffer
	for _, s := range New(Deps{}).Catalogue() {
		var one bytes.Buffer
		raw, err := json.Marshal(map[string]any{"name": s.Name, "description": s.Description, "parameters": s.Parameters})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Indent(&one, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		b.Write(append(one.Bytes(), '\n'))
	}
	golden := filepath.Join("testdata", "catalogue.json")
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
}

func call(name, args string) agent.ToolCall {
	return agent.ToolCall{ID: "c1", Name: name, Arguments: json.RawMessage(args), Source: agent.SourceNative}
}

// proves A-TOOL-01, A-TOOL-02, A-TOOL-03, A-TOOL-04, A-TOOL-05, A-TOOL-06, A-ERR-02
func TestValidateRefuses(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, tc := range []struct{ name, tool, args, fields, say string }{
		{"no arguments", "dir", `{}`, "path, operation", "required but missing"},
		{"empty raw", "dir", ``, "path, operation", "required but missing"},
		{"null", "dir", `null`, "arguments", "object"},
		{"array", "dir", `[]`, "arguments", "object"},
		{"double encoded", "dir", `"{\"path\":\"a\"}"`, "arguments", "object"},
		{"two values", "dir", `{"path":"a","operation":"list"} {}`, "arguments", "object"},
		{"repeated member", "dir", `{"path":"a","path":"b","operation":"list"}`, "arguments", "repeated"},
		{"bad UTF-8", "dir", "{\"path\":\"\xff\",\"operation\":\"list\"}", "arguments", ""},
		{"unknown member", "dir", `{"path":"a","operation":"list","recursive":true}`, `"recursive"`, "unknown argument"},
		{"wrong case", "dir", `{"Path":"a","operation":"list"}`, `path, "Path"`, ""},
		{"number for text", "dir", `{"path":1,"operation":"list"}`, "path", "string"},
		{"null for text", "dir", `{"path":null,"operation":"list"}`, "path", "string"},
		{"enum", "dir", `{"path":"a","operation":"remove"}`, "operation", "mkdir, rmdir, list"},
		{"enum case", "dir", `{"path":"a","operation":"LIST"}`, "operation", "mkdir, rmdir, list"},
		{"empty path", "dir", `{"path":"","operation":"list"}`, "path", "empty"},
		{"NUL", "dir", `{"path":"a\u0000b","operation":"list"}`, "path", "NUL"},
		{"long path", "dir", `{"path":"` + long + `","operation":"list"}`, "path", "4096"},
		{"several", "file_read", `{"mode":"all","start":-1}`, "path, mode, start", ""},

		{"missing query", "file_search", `{"root":".","mode":"text"}`, "query", "required"},
		{"results too many", "file_search", `{"root":".","mode":"text","query":"a","max_results":1001}`, "max_results", "1 to 1000"},
		{"results none", "file_search", `{"root":".","mode":"text","query":"a","max_results":0}`, "max_results", "1 to 1000"},
		{"lines too many", "file_search", `{"root":".","mode":"tail","tail_lines":10001}`, "tail_lines", "1 to 10000"},
		{"results text", "file_search", `{"root":".","mode":"text","query":"a","max_results":"5"}`, "max_results", "whole number"},
		{"results fraction", "file_search", `{"root":".","mode":"text","query":"a","max_results":1.5}`, "max_results", "whole number"},
		{"results huge", "file_search", `{"root":".","mode":"text","query":"a","max_results":1e300}`, "max_results", "whole number"},
		{"results null", "file_search", `{"root":".","mode":"text","query":"a","max_results":null}`, "max_results", "whole number"},
		{"bad regex", "file_search", `{"root":".","mode":"regex","query":"a("}`, "query", "RE2"},
		{"backreference", "file_search", `{"root":".","mode":"regex","query":"(a)\\1"}`, "query", "RE2"},
		{"regex bomb", "file_search", `{"root":".","mode":"regex","query":"((a{1000}){1000}){1000}"}`, "query", "RE2"},
		{"long query", "file_search", `{"root":".","mode":"regex","query":"` + long + `"}`, "query", "1000"},
		{"bad glob", "file_search", `{"root":".","mode":"glob","query":"[a"}`, "query", "glob"},
		{"glob up", "file_search", `{"root":".","mode":"glob","query":"../*"}`, "query", "relative"},
		{"glob bomb", "file_search", `{"root":".","mode":"glob","query":"{a,b}{a,b}{a,b}{a,b}{a,b}"}`, "query", "braces"},

		{"range members", "file_read", `{"path":"a","mode":"whole","start":1,"length":2}`, "start, length", "mode range"},
		{"negative length", "file_read", `{"path":"a","mode":"range","length":-1}`, "length", "whole number"},

		{"no content", "file_edit", `{"path":"a","operation":"overwrite"}`, "content", "required"},
		{"null content", "file_edit", `{"path":"a","operation":"atomic_replace","content":null}`, "content", "required"},
		{"content for delete", "file_edit", `{"path":"a","operation":"delete","content":"x"}`, "content", "null"},
		{"no patch", "file_edit", `{"path":"a","operation":"patch","content":"x"}`, "content, patch", ""},
		{"patch object", "file_edit", `{"path":"a","operation":"patch","patch":{"old_text":"a","new_text":"b"}}`, "patch", "string or null"},
		{"no new path", "file_edit", `{"path":"a","operation":"rename"}`, "new_path", "required"},
		{"empty new path", "file_edit", `{"path":"a","operation":"rename","new_path":""}`, "new_path", "empty"},
		{"short hash", "file_edit", `{"path":"a","operation":"delete","expected_sha256":"abc"}`, "expected_sha256", "64 hex"},

		{"command line", "process_run", `{"executable":"go","args":"test ./...","cwd":"."}`, "args", "array of strings"},
		{"number argument", "process_run", `{"executable":"go","args":["a",1],"cwd":"."}`, "args", "item 1"},
		{"NUL argument", "process_run", `{"executable":"go","args":["a\u0000"],"cwd":"."}`, "args", "NUL"},
		{"many arguments", "process_run", `{"executable":"go","args":[` + strings.Repeat(`"",`, 1000) + `""],"cwd":"."}`, "args", "1001"},
		{"big arguments", "process_run", `{"executable":"go","args":[` + strings.Repeat(`"`+strings.Repeat("y", 120_000)+`",`, 9) + `""],"cwd":"."}`, "args", "in all"},
		{"no time", "process_run", `{"executable":"go","args":[],"cwd":".","timeout_seconds":0}`, "timeout_seconds", "from 1"},
		{"environment", "process_run", `{"executable":"go","args":[],"cwd":".","env":{}}`, `"env"`, "unknown"},

		{"state", "task_update", `{"operation":"add","state":"completed"}`, `"state"`, "unknown"},
		{"add needs", "task_update", `{"operation":"add"}`, "description, requires_external_effect, budget_class, optimistic_tokens", ""},
		{"dependency needs", "task_update", `{"operation":"add_dependency"}`, "task_id, depends_on", ""},
		{"estimate order", "task_update", `{"operation":"set_estimate","task_id":"t","budget_class":"1K","optimistic_tokens":5,"most_likely_tokens":4,"pessimistic_tokens":6}`, "optimistic_tokens", "0 < "},
		{"effect text", "task_update", `{"operation":"add","requires_external_effect":"true"}`, "requires_external_effect", "true or false or null"},
		{"unknown required tool", "task_update", `{"operation":"add","required_tools":["bash"]}`, "required_tools", "item 0"},
		{"repeated required tool", "task_update", `{"operation":"add","required_tools":["dir","dir"]}`, "required_tools", "repeats"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := New(Deps{}).Validate(call(tc.tool, tc.args))
			e := fault.As(err)
			if e == nil || e.Code != fault.ToolArgumentsInvalid {
				t.Fatalf("got %v, want %s", err, fault.ToolArgumentsInvalid)
			}
			if e.Target != tc.fields {
				t.Errorf("names fields %q, want %q (%v)", e.Target, tc.fields, err)
			}
			if !strings.Contains(e.Err.Error(), tc.say) {
				t.Errorf("says %q, want %q in it", e.Err, tc.say)
			}
		})
	}
}

// proves A-OLL-07
func TestValidateUnknownTool(t *testing.T) {
	for name, hint := range map[string]string{
		"": "the tools are file_search", "TodoWrite": "the tools are", "assistant<|channel|>analysis": "the tools are",
		"functions.file_read": "did you mean file_read?", "FILE_EDIT": "did you mean file_edit?",
	} {
		e := fault.As(New(Deps{}).Validate(call(name, `{"path":"README.md","mode":"whole"}`)))
		if e == nil || e.Code != fault.ToolUnknown || e.Target != "name" || !strings.Contains(e.Err.Error(), hint) {
			t.Errorf("%q: got %v, want %s with %q", name, e, fault.ToolUnknown, hint)
		}
	}
}

// proves A-TOOL-01, A-TOOL-02, A-TOOL-03, A-TOOL-04, A-TOOL-05, A-TOOL-06
func TestParseGood(t *testing.T) {
	str := func(s string) *string { return &s }
	yes := true
	hash := strings.Repeat("ab", 32)
	for _, tc := range []struct {
		tool, args string
		want       any
	}{
		{"file_search", `{"root":".","mode":"name","query":"x"}`, searchArgs{root: ".", mode: "name", query: "x", maxResults: 100, tailLines: 100}},
		{"file_search", `{"root":"l","mode":"tail","tail_lines":1e1,"max_results":5.0}`, searchArgs{root: "l", mode: "tail", maxResults: 5, tailLines: 10}},
		{"file_read", `{"path":"a","mode":"whole","start":0,"length":0}`, readArgs{path: "a", mode: "whole"}},
		{"file_read", `{"path":"a","mode":"range","start":7,"length":9}`, readArgs{path: "a", mode: "range", start: 7, length: 9}},
		{"file_edit", `{"path":"a","operation":"overwrite","content":"","patch":null,"expected_sha256":"` + strings.ToUpper(hash) + `","new_path":null}`,
			editArgs{path: "a", operation: "overwrite", content: str(""), sha256: &hash}},
		{"file_edit", `{"path":"a","operation":"delete","content":"","patch":"","expected_sha256":""}`, editArgs{path: "a", operation: "delete"}},
		{"process_run", `{"executable":"go","args":["test","./..."],"cwd":"/w","stdin":"x"}`,
			runArgs{executable: "go", cwd: "/w", args: []string{"test", "./..."}, timeoutSeconds: 300, stdin: str("x")}},
		{"task_update", `{"operation":"add","task_id":null,"description":"d","depends_on":[],"budget_class":"8K","optimistic_tokens":1,"most_likely_tokens":2,"pessimistic_tokens":3,"requires_external_effect":true,"required_tools":["dir"]}`,
			GraphUpdate{Operation: "add", Description: "d", DependsOn: []string{}, BudgetClass: "8K", Optimistic: 1, MostLikely: 2, Pessimistic: 3, RequiresExternalEffect: &yes, RequiredTools: []string{"dir"}}},
		{"task_update", `{"operation":"add_dependency","task_id":"t","depends_on":["u"],"optimistic_tokens":0}`,
			GraphUpdate{Operation: "add_dependency", TaskID: "t", DependsOn: []string{"u"}}},
		{"dir", `{"path":"d","operation":"mkdir"}`, dirArgs{path: "d", operation: "mkdir"}},
	} {
		got, err := parse(call(tc.tool, tc.args))
		if err != nil {
			t.Errorf("%s %s: %v", tc.tool, tc.args, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(searchArgs{}, readArgs{}, editArgs{}, runArgs{}, dirArgs{})); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tc.tool, tc.args, diff)
		}
	}
}

// FuzzArguments: nothing panics, every refusal names a field, and what the decoder accepts the published schema accepts.
func FuzzArguments(f *testing.F) {
	resolved := map[string]*jsonschema.Resolved{}
	for _, s := range catalogue {
		var sch jsonschema.Schema
		if err := json.Unmarshal(s.Parameters(), &sch); err != nil {
			f.Fatal(err)
		}
		r, err := sch.Resolve(nil)
		if err != nil {
			f.Fatal(err)
		}
		resolved[s.Name] = r
	}
	for _, seed := range []string{`{"":0}`, `{"root":".","mode":"regex","query":"(a|b)*","max_results":1e2}`, `{"path":"a","mode":"range","start":1,"length":2}`,
		`{"path":"a","operation":"patch","patch":"{}","content":null}`, `{"executable":"x","args":["a"],"cwd":"c","timeout_seconds":3.0}`,
		`{"operation":"set_estimate","task_id":"t","budget_class":"1K","optimistic_tokens":1,"most_likely_tokens":1,"pessimistic_tokens":1}`, `{"path":"d","operation":"list"}`} {
		for i := range catalogue {
			f.Add(i, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, which int, raw []byte) {
		s := catalogue[uint(which)%uint(len(catalogue))]
		if _, err := parse(agent.ToolCall{Name: s.Name, Arguments: raw}); err != nil {
			if e := fault.As(err); e == nil || e.Code != fault.ToolArgumentsInvalid || e.Target == "" {
				t.Fatalf("refusal without code or field: %v", err)
			}
			return
		}
		if len(raw) == 0 {
			t.Fatal("no tool accepts empty arguments")
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("accepted what is no JSON: %v", err)
		}
		if err := resolved[s.Name].Validate(v); err != nil {
			t.Fatalf("accepted what the schema refuses: %v\n%s", err, raw)
		}
	})
}
