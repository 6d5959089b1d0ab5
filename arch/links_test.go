package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedPath  = regexp.MustCompile("`((?:\\.\\./)+[A-Za-z0-9_./-]+|(?:config|docs|internal|scripts|test|web)/[A-Za-z0-9_./-]+)`")
	linkedPath = regexp.MustCompile(`\]\(([A-Za-z0-9_./-]+)\)`)
)

// deadPaths are the files and directories of this repository that a document in directory dir names and that exist returns
// false for.
func deadPaths(text, dir string, exist func(path string) bool) []string {
	var dead []string
	for _, m := range namedPath.FindAllStringSubmatch(text, -1) {
		if beside := filepath.Join(dir, m[1]); !exist(beside) && (strings.HasPrefix(m[1], "../") || !exist(m[1])) {
			dead = append(dead, m[1])
		}
	}
	for _, m := range linkedPath.FindAllStringSubmatch(text, -1) {
		if !exist(filepath.Join(dir, m[1])) {
			dead = append(dead, m[1])
		}
	}
	return dead
}

// What a document names is there, so that a reader can follow it. The cases and the style name files of other projects.
func TestDocumentsNameWhatExists(t *testing.T) {
	top := root(t)
	exist := func(path string) bool {
		_, err := os.Stat(filepath.Join(top, path))
		return err == nil
	}
	if got := deadPaths("`docs/spec`, `../spec`, [a](README.md), `docs/none.md`, `../none`, [b](none.md)", "docs/clients", exist); len(got) != 3 {
		t.Fatalf("the control finds %v", got)
	}
	documents := []string{"README.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir(filepath.Join(top, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		rel, err := filepath.Rel(top, path)
		if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, "docs/cases/") && rel != "docs/design/style.md" {
			documents = append(documents, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range documents {
		text, err := os.ReadFile(filepath.Join(top, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range deadPaths(string(text), filepath.Dir(name), exist) {
			t.Errorf("%s names %s, which does not exist", name, p)
		}
	}
}
