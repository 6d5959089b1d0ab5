package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sourceFile is one parsed product file.
type sourceFile struct {
	rel  string
	fset *token.FileSet
	ast  *ast.File
}

// product parses every non-test Go file of internal/ and of the product commands, for all operating systems.
func product(t *testing.T) []sourceFile {
	t.Helper()
	var files []sourceFile
	for _, dir := range []string{"internal", "cmd/agent-mcp", "cmd/relaycodex", "config"} {
		err := filepath.WalkDir(filepath.Join(root(t), dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root(t), path)
			files = append(files, sourceFile{filepath.ToSlash(rel), fset, f})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// ban is a call or variable that product code may use only in the listed places.
type ban struct {
	names  []string // "pkg.Name" of an import, ".Method" of any value, or "name" of a builtin
	except []string // path prefixes
	reason string
}

var bans = []ban{
	{
		names:  []string{"os.Stdout", "fmt.Print", "fmt.Println", "fmt.Printf", "print", "println"},
		except: []string{"cmd/"},
		reason: "stdout carries MCP messages and nothing else (A-MCP-04); results go to a writer that the caller passes",
	},
	{
		names: []string{"os.WriteFile", "os.Rename", "os.Create", "os.CreateTemp", "os.Mkdir", "os.MkdirAll", "os.MkdirTemp",
			"os.Remove", "os.RemoveAll", "os.Truncate", "os.Link", "os.Symlink", ".Sync"},
		except: []string{"internal/fileop/", "internal/sandbox/matrix/"},
		reason: "durable effects go through fileop.FS, so that a crash test can stop at each of them (A-TX-04); fixtures of the security matrix are no effects of the product",
	},
	{
		names: []string{"unix.Renameat", "unix.Renameat2", "unix.Unlinkat", "unix.Mkdirat", "unix.Fsync", "unix.Fdatasync", "unix.Mkdir", "unix.Rename", "unix.Unlink",
			"syscall.Mkdir", "syscall.Rename", "syscall.Unlink", "syscall.Fsync", "syscall.Rmdir"},
		except: []string{"internal/fileop/", "internal/sandbox/linux/", "internal/sandbox/matrix/"},
		reason: "durable effects go through fileop.FS; a backend may make names inside the sandbox's own private root",
	},
	{
		names:  []string{"unix.Openat2"},
		except: []string{"internal/sandbox/rootio/"},
		reason: "rootio is the only user of openat2: a second resolver would be a second verdict (A-POL-02)",
	},
	{
		names:  []string{"bufio.NewScanner"},
		reason: "a Scanner gives up on a long line; a peer could silence us with one",
	},
	{
		names:  []string{"time.Sleep"},
		reason: "waiting for a time hides the event that is waited for",
	},
	{
		names:  []string{"landlock.BestEffort", ".BestEffort"},
		reason: "confinement is exact or refused (A-PRI-05)",
	},
	{
		names:  []string{"http.Get", "http.Post", "http.DefaultClient", "http.DefaultTransport", "http.ListenAndServe"},
		reason: "the default client follows proxies and redirects; ours is built with its limits",
	},
}

func (b ban) findings(f sourceFile) []string {
	if slices.ContainsFunc(b.except, func(p string) bool { return strings.HasPrefix(f.rel, p) }) {
		return nil
	}
	var found []string
	imports := map[string]string{}
	for _, imp := range f.ast.Imports {
		path := strings.Trim(imp.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if imp.Name != nil {
			imports[imp.Name.Name] = name
		} else {
			imports[name] = name
		}
	}
	report := func(n ast.Node, name string) {
		if slices.Contains(b.names, name) {
			found = append(found, f.fset.Position(n.Pos()).String()+" uses "+name)
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && imports[id.Name] != "" {
				report(n, imports[id.Name]+"."+n.Sel.Name)
				return true
			}
		case *ast.CallExpr:
			switch fun := n.Fun.(type) {
			case *ast.Ident:
				report(n, fun.Name)
			case *ast.SelectorExpr:
				// A method named Sync of the fileop.FS takes the file as its argument; *os.File's takes none.
				if fun.Sel.Name != "Sync" || len(n.Args) == 0 {
					report(n, "."+fun.Sel.Name)
				}
			}
		}
		return true
	})
	return found
}

func TestBannedCalls(t *testing.T) {
	for _, f := range product(t) {
		for _, b := range bans {
			for _, found := range b.findings(f) {
				t.Errorf("%s\n\treason: %s", found, b.reason)
			}
		}
	}
}

func TestBannedCallsAreFound(t *testing.T) {
	const src = `package x
import (
	"fmt"
	o "os"
)
func f(file *o.File) {
	fmt.Println("x")
	o.WriteFile("a", nil, 0)
	file.Sync()
	println("y")
}`
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "x.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range bans {
		n += len(b.findings(sourceFile{"internal/x/x.go", fset, parsed}))
	}
	if n != 4 {
		t.Errorf("planted four banned calls, found %d", n)
	}
}

func TestPureRoomsReadNoClock(t *testing.T) {
	clock := ban{names: []string{"time.Now", "time.Since", "time.Until", "time.After", "time.NewTimer", "rand.Int", "rand.Read"}}
	for _, f := range product(t) {
		for _, pure := range []string{"internal/agent/planner/", "internal/sandbox/policy/", "internal/relay/codex/", "internal/relay/turn/", "internal/relay/history/",
			"internal/relay/ledger/", "internal/relay/owner/"} {
			if strings.HasPrefix(f.rel, pure) {
				for _, found := range clock.findings(f) {
					t.Errorf("%s: this room is pure, time comes in as a value", found)
				}
			}
		}
	}
}
