package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sekisho/test/cliscript"
	"sekisho/test/product"
)

var bin product.Bin

func TestMain(m *testing.M) { bin.Main(m) }

// runScripts runs testdata/<dir>: each script is a session of a person with the product binary. Its state root and home
// are its own.
func runScripts(t *testing.T, dir string) {
	t.Helper()
	program, err := bin.Build("cmd/agent-mcp")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", dir),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": cliscript.Exits, "mode": mode},
	})
}

// mode requires permission bits: mode OCTAL PATH...
func mode(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	for _, path := range args[1:] {
		matches, err := filepath.Glob(ts.MkAbs(path))
		ts.Check(err)
		if len(matches) == 0 {
			ts.Fatalf("nothing matches %s", path)
		}
		for _, m := range matches {
			st, err := os.Lstat(m)
			ts.Check(err)
			if st.Mode().Perm() != os.FileMode(want) {
				ts.Fatalf("%s has mode %#o, want %#o", m, st.Mode().Perm(), want)
			}
		}
	}
}

// proves A-CLI-01, A-TX-01, A-CLI-02, A-CLI-03, A-CLI-04, A-CFG-02, A-CFG-03, A-CFG-04, A-CFG-05, A-CFG-06, ST-21, ST-23, ST-24
func TestCommandLine(t *testing.T) { runScripts(t, "cli") }
