// Command mutants removes the guards of test/mutants/guard one at a time, with an overlay of the compiler, and runs the test
// that must notice. There is no switch in the product for it. A guard whose test stays green is a hole in the tests.
//
//	go run ./test/mutants [-run REGEXP] [-list]
//
// It prints one line each and ends with "N passed, 0 failed"; exit code 1 when one survived, could not be built, or its test
// does not pass with the guard in place.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sekisho/test/mutants/guard"
)

// perRun bounds one test run. A test that only hangs without its guard names nothing, so it does not count.
const perRun = 90 * time.Second

func main() {
	pattern := flag.String("run", "", "only the guards whose name or file matches this regular expression")
	list := flag.Bool("list", false, "print the list, run nothing")
	flag.Parse()
	chosen, err := choose(*pattern)
	if err != nil || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: mutants [-run REGEXP] [-list]", errors.Join(err))
		os.Exit(2)
	}
	if *list {
		for _, g := range chosen {
			fmt.Printf("%-60s %s %s (%s)\n", g.Name, g.Package, g.Test, strings.Join(g.IDs, ", "))
		}
		return
	}
	failed, err := runAll(chosen)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d passed, %d failed\n", len(chosen)-failed, failed)
	if failed > 0 || len(chosen) == 0 {
		os.Exit(1)
	}
}

func choose(pattern string) ([]guard.Guard, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(guard.All(), func(g guard.Guard) bool {
		return !re.MatchString(g.Name) && !re.MatchString(g.File)
	}), nil
}

func runAll(guards []guard.Guard) (failed int, err error) {
	root, err := moduleRoot()
	if err != nil {
		return 0, err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	intact, err := controls(root, guards)
	if err != nil {
		return 0, err
	}
	for _, g := range guards {
		start := time.Now()
		why := intact[group{g.Package, g.Sandbox}][g.Test]
		if why == "" {
			why = survive(root, scratch, g)
		}
		if why != "" {
			failed++
			fmt.Printf("FAILED  %-58s %s: %s\n", g.Name, g.File, why)
			continue
		}
		fmt.Printf("killed  %-58s by %s in %s (%.0f s)\n", g.Name, g.Test, g.Package, time.Since(start).Seconds())
	}
	return failed, nil
}

// group is what one control run covers.
type group struct {
	pkg     string
	sandbox bool
}

// controls runs every named test with all guards in place. It returns, for each test, why it is no judge, or "".
func controls(root string, guards []guard.Guard) (map[group]map[string]string, error) {
	named := map[group]map[string]string{}
	for _, g := range guards {
		k := group{g.Package, g.Sandbox}
		if named[k] == nil {
			named[k] = map[string]string{}
		}
		named[k][g.Test] = ""
	}
	for k, tests := range named {
		names := slices.Sorted(maps.Keys(tests))
		results, output, err := runTests(root, "", k, strings.Join(names, "|"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if results[name] != "pass" {
				tests[name] = fmt.Sprintf("with the guard in place, %s is %q; it must pass\n%s", name, results[name], tail(output))
			}
		}
	}
	return named, nil
}

// survive removes one guard and returns "" when the named test noticed, else what happened instead.
func survive(root, scratch string, g guard.Guard) string {
	path := filepath.Join(root, filepath.FromSlash(g.File))
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if n := bytes.Count(text, []byte(g.Cut)); n != 1 {
		return fmt.Sprintf("the text to cut occurs %d times; it must occur once", n)
	}
	mutated := filepath.Join(scratch, "mutated.go")
	if err := os.WriteFile(mutated, bytes.Replace(text, []byte(g.Cut), []byte(g.Put), 1), 0o600); err != nil {
		return err.Error()
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		return err.Error()
	}
	overlayFile := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return err.Error()
	}
	results, output, err := runTests(root, overlayFile, group{g.Package, g.Sandbox}, g.Test)
	switch {
	case err != nil:
		return err.Error()
	case results[g.Test] == "fail":
		return ""
	case results[g.Test] == "":
		return "did not build or did not run\n" + tail(output)
	default:
		return g.Test + " does not notice: " + results[g.Test]
	}
}

// runTests runs the top-level tests that match names and returns pass, fail or skip for each. The overlay goes through
// GOFLAGS, so that a product binary which a test builds has the guard removed too.
func runTests(root, overlay string, k group, names string) (map[string]string, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), perRun+5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-vet=off", "-count=1", "-timeout", perRun.String(), "-run", "^("+names+")$", k.pkg)
	cmd.Dir = root
	cgo := "CGO_ENABLED=1"
	if k.sandbox {
		cgo = "CGO_ENABLED=0"
	}
	flags := "-buildvcs=false"
	if overlay != "" {
		flags += " -overlay=" + overlay
	}
	cmd.Env = append(os.Environ(), cgo, "GOFLAGS="+flags)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, "", err
	}
	results, text := map[string]string{}, errs.String()
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			text += lines.Text() + "\n"
			continue
		}
		text += event.Output
		switch event.Action {
		case "pass", "fail", "skip":
			if event.Test != "" && !strings.Contains(event.Test, "/") {
				results[event.Test] = event.Action
			}
		}
	}
	return results, text, lines.Err()
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("mutants: run inside the module")
	}
	return filepath.Dir(mod), nil
}

func tail(s string) string {
	const most = 2000
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}
