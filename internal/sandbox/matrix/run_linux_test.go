//go:build linux && !cgo

package matrix

import (
	"fmt"
	"os"
	"testing"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/host"
	"sekisho/internal/sandbox/rootio"
	"sekisho/test/product"
)

// The whole matrix is the self-test's, as root and as another user; these few rows show that the suite works with the
// backend of this machine in an ordinary test run.
//
// proves A-SBX-01, A-SBX-05, A-SBX-06, ST-01, ST-02, ST-03, ST-04, ST-12, ST-13, ST-14, ST-27, A-POL-11, A-SBX-07
func TestSomeRowsOnThisMachine(t *testing.T) {
	var bin product.Bin
	t.Cleanup(func() { bin.Close() })
	program, err := bin.Build("cmd/agent-mcp")
	if err != nil {
		t.Fatal(err)
	}
	payload, err := bin.Build("test/payload")
	if err != nil {
		t.Fatal(err)
	}
	backend, err := host.Open(host.Options{Program: program, Files: fileop.OS()})
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Backend: backend, Payload: payload, Dir: product.Dir(t), Cgroup: "auto", Instance: fmt.Sprint("matrix-", os.Getpid()), Race: 1,
		Roots: func(roots []sandbox.Root) (*rootio.Set, error) { return rootio.NewSet(fileop.OS(), roots, nil) },
		Only:  []string{"ST-01", "ST-02", "ST-03", "ST-12", "ST-13", "ST-14", "ST-04", "ST-27", "AC-8", "AC-21", "AC-57", "AC-58", "AC-12", "AC-34", "AC-53", "AC-54"}}
	for _, r := range Run(t.Context(), env, nil) {
		if r.Status != Passed {
			t.Errorf("%s %s: %s", r.ID, r.Status, r.Detail)
		}
	}
}
