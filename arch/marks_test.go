package arch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var mergeMark = regexp.MustCompile(`(?m)^(<<<<<<< |>>>>>>> |\|\|\|\|\|\|\| )`)

// A merge that was resolved in a hurry leaves its marks, or both sides of a paragraph.
func TestNoMarksOfAMerge(t *testing.T) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root(t)
	out, err := list.Output()
	if err != nil {
		t.Fatal("this needs the git checkout, as every change does: ", err)
	}
	for _, name := range bytes.Split(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		data, err := os.ReadFile(filepath.Join(root(t), string(name)))
		if err != nil {
			continue // removed in the work tree
		}
		if mergeMark.Match(data) {
			t.Errorf("%s has the marks of a merge", name)
		}
	}
	seen := map[string]bool{}
	for _, id := range known(t) {
		if seen[id] {
			t.Errorf("%s stands twice in the specification", id)
		}
		seen[id] = true
	}
}
