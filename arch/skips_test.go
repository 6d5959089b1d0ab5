package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// skips are all places where a test may end without a verdict, as "file: function", each with the reason that it gives. A test
// that lacks a program of the machine fails and names it; only what no preparation can change is a reason.
var skips = map[string]string{
	"internal/agent/mcpserver/sockowner/sockowner_linux_test.go: TestPeerOfAnotherUserIsThatUser": "only root can start a process of another user",
	"test/overhttp/attack_test.go: needsRoot":                                                     "only root can start a process of another user",
	"cmd/agent-mcp/testdata/cli/question.txt":                                                     "a terminal is made here on Linux only",
}

// goSkips are the calls in Go source that end a test without a verdict, or that judge less in a short run.
func goSkips(rel string, src []byte) (map[string]string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, rel, src, 0)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, d := range f.Decls {
		name := "a declaration"
		if fn, ok := d.(*ast.FuncDecl); ok {
			name = fn.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); sel.Sel.Name == "Skip" || sel.Sel.Name == "Skipf" || sel.Sel.Name == "SkipNow" || ok && x.Name == "testing" && sel.Sel.Name == "Short" {
				reason := sel.Sel.Name + " without a reason"
				if len(call.Args) > 0 {
					if lit, ok := call.Args[0].(*ast.BasicLit); ok {
						reason = strings.Trim(lit.Value, "`\"")
					}
				}
				found[fmt.Sprintf("%s: %s", rel, name)] = reason
			}
			return true
		})
	}
	return found, nil
}

var (
	// scriptSkip is the command of a testscript that ends it early.
	scriptSkip = regexp.MustCompile(`(?m)^[ \t]*(?:\[[^\]]*\][ \t]*)*(?:skip|stop)\b[ \t]*'?([^'\n]*)`)
	// nodeSkip is a test or a suite of node's runner that is marked, by its name or by an option.
	nodeSkip = regexp.MustCompile(`\b(?:test|it|describe|suite|t)\.(?:skip|todo)\(|\b(?:skip|todo):`)
)

func skipsOf(rel string, src []byte) (map[string]string, error) {
	switch {
	case strings.HasSuffix(rel, ".go"):
		return goSkips(rel, src)
	case strings.Contains(rel, "/testdata/") && (strings.HasSuffix(rel, ".txt") || strings.HasSuffix(rel, ".txtar")):
		if m := scriptSkip.FindSubmatch(src); m != nil {
			return map[string]string{rel: string(m[1])}, nil
		}
	case strings.HasSuffix(rel, ".mjs") || strings.HasSuffix(rel, ".test.ts") || strings.HasSuffix(rel, ".test.tsx"):
		if m := nodeSkip.Find(src); m != nil {
			return map[string]string{rel: string(m)}, nil
		}
	}
	return nil, nil
}

// No test falls silent unseen.
func TestSkipsAreListed(t *testing.T) {
	found := map[string]string{}
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "dist" || path == filepath.Join(root(t), "bin")):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(root(t), path)
		if err != nil || filepath.ToSlash(rel) == "arch/skips_test.go" {
			return err
		}
		if ext := filepath.Ext(path); !slices.Contains([]string{".go", ".txt", ".txtar", ".mjs", ".ts", ".tsx"}, ext) {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		some, err := skipsOf(filepath.ToSlash(rel), src)
		maps.Copy(found, some)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for where, reason := range found {
		if want, ok := skips[where]; !ok {
			t.Errorf("%s skips (%q): let it fail clearly, or give the reason here", where, reason)
		} else if reason != want {
			t.Errorf("%s skips because %q, here it is %q", where, reason, want)
		}
	}
	for where := range skips {
		if _, ok := found[where]; !ok {
			t.Errorf("%s skips nothing: take it out of the list", where)
		}
	}
}

func TestSkipsAreFound(t *testing.T) {
	for name, src := range map[string]string{
		"x_test.go":          "package x\nfunc TestX(t *testing.T) { if x { t.Skip(\"r\") } }",
		"y_test.go":          "package x\nfunc TestX(t *testing.T) { t.Run(\"a\", func(q *testing.T) { q.Skipf(\"r\", 1) }) }",
		"z.go":               "package x\nfunc needs(t TB) { t.SkipNow() }",
		"s_test.go":          "package x\nfunc TestX(t *testing.T) { if testing.Short() { return } }",
		"a/testdata/b.txt":   "exec x\n[!root] skip 'r'\n",
		"a/testdata/c.txt":   "stop\n",
		"test/a.test.mjs":    "test.skip('a', () => {})",
		"test/b.test.mjs":    "test('a', { skip: true }, () => {})",
		"web/test/b.test.ts": "it.todo('a')",
	} {
		if found, err := skipsOf(name, []byte(src)); err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	for name, src := range map[string]string{
		"x.go": "package x\nfunc f() error { return fs.SkipDir }\nfunc g() { s.skip() }", "a/testdata/b.txt": "exec skip\n# stop\n", "run.mjs": "if (t.skip !== undefined) {}",
	} {
		if found, err := skipsOf(name, []byte(src)); err != nil || len(found) != 0 {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}
