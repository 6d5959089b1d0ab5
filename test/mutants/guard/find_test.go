package guard

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A guard is where its text is, once, in a directory or below it, and never in a test.
func TestLocate(t *testing.T) {
	root := tree(t, map[string]string{
		"p/a.go": "one\ntwo\n", "p/q/b.go": "three\n", "p/a_test.go": "one\nthree\n", "p/c.txt": "one\n", "other/d.go": "one\n", "p/q/e.go": "two\n",
	})
	for cut, want := range map[string]string{"one": "p/a.go", "three": "p/q/b.go", "two": "", "none": ""} {
		file, mutated, err := Locate(root, Guard{In: "p", Cut: cut, Put: "X"})
		if (err == nil) != (want != "") || err == nil && file != want {
			t.Errorf("%s: %q, %v", cut, file, err)
		}
		if cut == "one" && string(mutated) != "X\ntwo\n" {
			t.Errorf("without it: %q", mutated)
		}
	}
}

// What a killer proves stands right above it.
func TestFindKiller(t *testing.T) {
	root := tree(t, map[string]string{
		"p/a_test.go": "package p\n\n// proves A-X-01\nfunc TestOther(t *testing.T) {}\n\n// Words.\n//\n// proves A-X-02, A-X-03: in a respect.\n// proves A-X-04\nfunc TestIt(t *testing.T) {}\n",
		"p/b_test.go": "//go:build linux && !cgo\n\npackage p\n\nfunc TestReal(t *testing.T) {}\n",
	})
	k, err := FindKiller(root, Guard{Package: "p", Test: "TestIt"})
	if err != nil || k == nil || k.Sandbox || !slices.Equal(k.Proves, []string{"A-X-02", "A-X-03", "A-X-04"}) {
		t.Errorf("%+v, %v", k, err)
	}
	if k, err := FindKiller(root, Guard{Package: "p", Test: "TestReal"}); err != nil || k == nil || !k.Sandbox || len(k.Proves) > 0 {
		t.Errorf("%+v, %v", k, err)
	}
	if k, err := FindKiller(root, Guard{Package: "p", Test: "TestNo"}); err != nil || k != nil {
		t.Errorf("%+v, %v", k, err)
	}
}
