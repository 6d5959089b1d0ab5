package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sekisho/internal/fault"
)

func spec(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), "docs", "spec", "agent-mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A code exists in the specification before it exists in the catalogue, and the other way round.
// proves A-PRI-06, A-ERR-01
func TestSpecificationNamesEveryCode(t *testing.T) {
	text := spec(t)
	i := strings.Index(text, "- A-ERR-01 ")
	paragraph, _, _ := strings.Cut(text[i:], "\n- A-ERR-02")
	named := codesIn(paragraph)
	for _, code := range fault.Codes() {
		if !named[string(code)] {
			t.Errorf("A-ERR-01 in docs/spec does not name %s", code)
		}
		delete(named, string(code))
	}
	for code := range named {
		// The original's name of a code that the specification replaced, and the network codes of a feature to come.
		if code != "process.lpac_unsupported" {
			t.Errorf("A-ERR-01 names %s, which the catalogue lacks", code)
		}
	}
}

// codesIn reads `group.code` and `group.{a, b}` from a text.
func codesIn(text string) map[string]bool {
	codes := map[string]bool{}
	for i, part := range strings.Split(text, "`") {
		if i%2 == 0 {
			continue
		}
		group, members, braced := strings.Cut(part, ".{")
		if !braced {
			codes[part] = true
			continue
		}
		for _, m := range strings.Split(strings.TrimSuffix(members, "}"), ",") {
			codes[group+"."+strings.TrimSpace(m)] = true
		}
	}
	delete(codes, "agent.same_failure_limit|")
	return codes
}

// No database, workflow engine, graph library, RPC framework or sandbox framework comes in: direct dependencies are listed
// here, each of them in the design's table or an ADR.
// proves A-PRI-04
func TestDirectDependenciesAreTheDecidedOnes(t *testing.T) {
	decided := []string{
		"github.com/aymanbagabas/go-udiff", "github.com/bmatcuk/doublestar/v4", "github.com/coder/websocket",
		"github.com/elastic/go-seccomp-bpf", "github.com/go-json-experiment/json", "github.com/google/go-cmp",
		"github.com/google/jsonschema-go", "github.com/google/uuid", "github.com/landlock-lsm/go-landlock",
		"github.com/modelcontextprotocol/go-sdk", "github.com/rogpeppe/go-internal", "go.uber.org/goleak",
		"go.yaml.in/yaml/v4", "golang.org/x/net", "golang.org/x/sys", "golang.org/x/term", "pgregory.net/rapid",
	}
	cmd := exec.Command("go", "list", "-m", "-f", "{{if not .Indirect}}{{.Path}}{{end}}", "all")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if path != module && !slices.Contains(decided, path) {
			t.Errorf("%s is a direct dependency that no ADR decided", path)
		}
	}
}
