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

// paragraph returns the requirement id of docs/spec/name, up to the next one.
func paragraph(t *testing.T, name, id string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), "docs", "spec", name))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "\n- "+id+" ")
	if !ok {
		t.Fatalf("docs/spec/%s has no %s", name, id)
	}
	text, _, _ := strings.Cut(rest, "\n- ")
	text, _, _ = strings.Cut(text, "\n\n")
	return text
}

// A code exists in the specification of its program before it exists in the catalogue, and the other way round.
// proves A-PRI-06, A-ERR-01, R-ERR-01
func TestSpecificationNamesEveryCode(t *testing.T) {
	agent, relay := codesIn(paragraph(t, "agent-mcp.md", "A-ERR-01")), codesIn(paragraph(t, "relaycodex.md", "R-ERR-01"))
	for code := range relay {
		if agent[code] {
			t.Errorf("both programs claim %s", code)
		}
		agent[code] = true
	}
	for _, code := range fault.Codes() {
		if !agent[string(code)] {
			t.Errorf("neither A-ERR-01 nor R-ERR-01 in docs/spec names %s", code)
		}
		delete(agent, string(code))
	}
	for code := range agent {
		// The original's name of a code that the specification replaced, and the network codes of a feature to come.
		if code != "process.lpac_unsupported" {
			t.Errorf("docs/spec names %s, which the catalogue lacks", code)
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
		"github.com/bmatcuk/doublestar/v4", "github.com/coder/websocket",
		"github.com/elastic/go-seccomp-bpf", "github.com/go-json-experiment/json", "github.com/godbus/dbus/v5", "github.com/google/go-cmp",
		"github.com/google/jsonschema-go", "github.com/google/uuid", "github.com/landlock-lsm/go-landlock",
		"github.com/modelcontextprotocol/go-sdk", "github.com/rogpeppe/go-internal", "go.uber.org/goleak",
		"go.yaml.in/yaml/v4", "golang.org/x/net", "golang.org/x/sys", "golang.org/x/term", "golang.org/x/text", "pgregory.net/rapid",
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
