package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// later lists requirements that this release does not claim, each with what happens instead. A requirement that is
// neither here nor proven by a test fails the build; one that is here and proven must leave the list.
var later = map[string]string{
	"A-MCP-05": "mcp.transport http is refused as not yet available",
	"A-MCP-07": "the Tasks extension is not declared; its methods answer -32601",
	"A-MCP-09": "no HTTP transport, so no HTTP request log",
	"A-MCP-12": "no Tasks extension, so no persisted MCP task",
	"A-POL-10": "hard links in writable roots are not examined",
	"A-POL-11": "a script as approved entry is refused",
	"A-POL-12": "network restricted is refused as not yet available",
	"A-POL-13": "no protected paths; allow_tool_config_writes true is refused",
	"A-POL-14": "only the root's identity is checked, not its filesystem type",
	"A-SBX-08": "TEMP and HOME are private to the task and uncapped; other sizes than the shipped ones are refused",
	"A-SBX-10": "a denial names its code and rule, not the nearest allowed path",
	"A-SES-04": "only an overflow shortens the context (A-SES-07)",
	"A-SES-05": "skills.directory is refused as not yet available",
	"A-TX-07":  "Windows only",
	"A-TX-08":  "tasks of different servers may share a workspace",
	"A-REL-01": "no release bundle yet",
	"A-REL-02": "no release bundle yet",
}

var (
	idLine     = regexp.MustCompile(`(?m)^- (A-[A-Z]+-\d+)`)
	provesLine = regexp.MustCompile(`(?m)^\s*// proves (.+)$`)
	idToken    = regexp.MustCompile(`^(A-[A-Z]+-\d+|ST-\d+|R-[A-Z]+-\d+)$`)
)

func TestRequirementsAreProven(t *testing.T) {
	spec, err := os.ReadFile(filepath.Join(root(t), "docs", "spec", "agent-mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range idLine.FindAllStringSubmatch(string(spec), -1) {
		known[m[1]] = true
	}
	if len(known) < 80 {
		t.Fatalf("only %d ids found in the specification", len(known))
	}
	proven := map[string][]string{}
	err = filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root(t), path)
		for _, m := range provesLine.FindAllStringSubmatch(string(data), -1) {
			for _, id := range strings.Split(m[1], ",") {
				id = strings.TrimSpace(id)
				if !idToken.MatchString(id) {
					t.Errorf("%s: %q is no requirement id", rel, id)
				} else if strings.HasPrefix(id, "A-") && !known[id] {
					t.Errorf("%s: %s is not in the specification", rel, id)
				}
				proven[id] = append(proven[id], rel)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id := range known {
		reason, isLater := later[id]
		switch {
		case len(proven[id]) == 0 && !isLater:
			t.Errorf("%s has no test that proves it", id)
		case len(proven[id]) > 0 && isLater:
			t.Errorf("%s is proven by %v and listed as later (%q): remove it from the list", id, proven[id], reason)
		}
	}
	for id := range later {
		if !known[id] {
			t.Errorf("%s is listed as later and not in the specification", id)
		}
	}
}
