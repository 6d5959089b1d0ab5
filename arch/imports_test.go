package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "sekisho"

// pkg is what go list tells about one package.
type pkg struct {
	ImportPath string
	Name       string
	Doc        string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func (p pkg) rel() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

// list runs plain go list for one operating system; a package without files there is left out.
func list(t *testing.T, goos string) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Name,Doc,Dir,GoFiles,Imports", "./...")
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v", goos, err)
	}
	pkgs := map[string]pkg{}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			pkgs[p.ImportPath] = p
		}
	}
	if len(pkgs) == 0 {
		t.Fatalf("go list for %s found no package", goos)
	}
	return pkgs
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func matches(pattern, rel string) bool {
	base, below := strings.CutSuffix(pattern, "…")
	base = strings.TrimSuffix(base, "/")
	return rel == base || below && (base == "" || strings.HasPrefix(rel, base+"/"))
}

func matchesAny(patterns []string, rel string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, rel) })
}

// ruleFor returns the row of a package: the first that names it exactly, else the first that covers it.
func ruleFor(rel string) (rule, bool) {
	for _, r := range table {
		if slices.Contains(r.packages, rel) {
			return r, true
		}
	}
	for _, r := range table {
		if matchesAny(r.packages, rel) {
			return r, true
		}
	}
	return rule{}, false
}

func TestImportTable(t *testing.T) {
	for _, goos := range []string{"linux", "windows", "darwin"} {
		t.Run(goos, func(t *testing.T) {
			pkgs := list(t, goos)
			for _, p := range pkgs {
				r, ok := ruleFor(p.rel())
				if !ok {
					t.Errorf("%s has no row in the import table: add one with its reason, here and in docs/design/architecture.md", p.rel())
					continue
				}
				for _, problem := range violations(p, r, pkgs) {
					t.Errorf("%s %s\n\treason of the rule: %s", p.rel(), problem, r.reason)
				}
			}
		})
	}
}

func violations(p pkg, r rule, pkgs map[string]pkg) []string {
	var found []string
	for _, imp := range p.Imports {
		rel, ours := strings.CutPrefix(imp, module+"/")
		switch {
		case ours && !matchesAny(everywhere, rel) && !matchesAny(r.allow, rel):
			found = append(found, "imports "+rel+", which its row does not allow")
		case !ours && slices.Contains(r.forbid, imp):
			found = append(found, "imports "+imp+", which its row forbids")
		case ours && r.deep:
			for _, via := range reaches(rel, r.forbid, pkgs, map[string]bool{}) {
				found = append(found, "reaches "+via)
			}
		}
	}
	return found
}

// reaches tells which forbidden packages are imported by rel or by a package of this module below it.
func reaches(rel string, forbid []string, pkgs map[string]pkg, seen map[string]bool) []string {
	if seen[rel] {
		return nil
	}
	seen[rel] = true
	var found []string
	for _, imp := range pkgs[module+"/"+rel].Imports {
		if slices.Contains(forbid, imp) {
			found = append(found, imp+" through "+rel)
		}
		if next, ours := strings.CutPrefix(imp, module+"/"); ours {
			found = append(found, reaches(next, forbid, pkgs, seen)...)
		}
	}
	return found
}

// A table that cannot fail would prove nothing.
func TestImportTableFindsViolations(t *testing.T) {
	pkgs := map[string]pkg{
		module + "/internal/sandbox/policy": {ImportPath: module + "/internal/sandbox/policy", Imports: []string{"os", module + "/internal/agent/runtime", module + "/internal/sandbox"}},
		module + "/internal/sandbox":        {ImportPath: module + "/internal/sandbox", Imports: []string{"net"}},
	}
	p := pkgs[module+"/internal/sandbox/policy"]
	r, _ := ruleFor(p.rel())
	if got := violations(p, r, pkgs); len(got) != 3 {
		t.Errorf("planted three violations, found %q", got)
	}
}

func TestPackagesHaveDocs(t *testing.T) {
	for _, p := range list(t, "linux") {
		if !strings.HasPrefix(p.Doc, "Package ") && p.Name != "main" || len(p.Doc) < 20 {
			t.Errorf("%s: the package comment must say what the package is for (found %q)", p.rel(), p.Doc)
		}
	}
}
