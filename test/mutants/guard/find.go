package guard

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Locate returns the file, relative to the module at root, that holds what g cuts, and the file's text without the guard. The
// text to cut must occur once in all of g.In.
func Locate(root string, g Guard) (file string, mutated []byte, err error) {
	found := 0
	err = filepath.WalkDir(filepath.Join(root, filepath.FromSlash(g.In)), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := bytes.Count(text, []byte(g.Cut)); n > 0 {
			found += n
			mutated = bytes.Replace(text, []byte(g.Cut), []byte(g.Put), 1)
			file, err = filepath.Rel(root, path)
		}
		return err
	})
	if err == nil && found != 1 {
		err = fmt.Errorf("the text to cut occurs %d times in %s; it must occur once", found, g.In)
	}
	return filepath.ToSlash(file), mutated, err
}

// Killer is the declaration of a test.
type Killer struct {
	// Proves are the requirement ids of the lines above it.
	Proves []string
	// Sandbox is true for tests that make real sandboxes: they are built without cgo, and drive the product binary.
	Sandbox bool
}

// FindKiller reads the declaration of g's test. The result is nil when the package has none.
func FindKiller(root string, g Guard) (*Killer, error) {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(g.Package), "*_test.go"))
	if err != nil {
		return nil, err
	}
	decl := regexp.MustCompile(`(?m)((?:^//.*\n)*)^func ` + regexp.QuoteMeta(g.Test) + `\(t \*testing\.T\)`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		m := decl.FindSubmatch(text)
		if m == nil {
			continue
		}
		k := &Killer{Sandbox: strings.Contains(string(text), "//go:build linux && !cgo\n")}
		for line := range strings.Lines(string(m[1])) {
			if ids, ok := strings.CutPrefix(line, "// proves "); ok {
				ids, _, _ = strings.Cut(strings.TrimSpace(ids), ":") // what follows a colon says in which respect
				for id := range strings.SplitSeq(ids, ",") {
					k.Proves = append(k.Proves, strings.TrimSpace(id))
				}
			}
		}
		return k, nil
	}
	return nil, nil
}
