//go:build linux

// Command mutants removes the guards of test/mutants/guard one at a time, with an overlay of the compiler, and runs the test
// that must notice. There is no switch in the product for it. A guard whose test stays green is a hole in the tests.
//
//	go run ./test/mutants [-run REGEXP] [-short] [-list] [-who] [-json] [-parallel 1|2]
//
// It prints one line each, with the killer and the first thing that it says, and ends with "N passed, 0 failed"; exit code 1
// when one survived, could not be built, or its test does not pass with the guard in place. Only an assertion counts: a test
// that panics, hangs or cannot be built without the guard has noticed nothing. With -who it runs all tests of each killer's
// package without the guard, and says which ones notice: so a killer is found for a new guard.
//
// Killers that passed with all guards in place are remembered in the user's cache directory until anything in the tree
// changes. Some need root, as the sandbox's own tests do. What a test leaves behind without its guard, processes and control
// groups, is cleared away and named.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"sekisho/test/mutants/guard"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == alone {
		code, err := keep(os.Args[2:])
		if err != nil {
			fmt.Fprintln(os.Stderr, "mutants:", err)
		}
		os.Exit(code)
	}
	pattern := flag.String("run", "", "only the guards whose name, directory or killer matches this regular expression")
	short := flag.Bool("short", false, "one guard of each family")
	list := flag.Bool("list", false, "print the list, run nothing")
	who := flag.Bool("who", false, "say which tests of the killer's package notice, judge nothing")
	lines := flag.Bool("json", false, "one JSON object for each guard instead of a line")
	parallel := flag.Int("parallel", 2, "how many at a time; real sandboxes are tried one after another in any case")
	flag.Parse()
	chosen, err := choose(*pattern, *short)
	if err != nil || flag.NArg() > 0 || *parallel < 1 || *parallel > 2 {
		fmt.Fprintln(os.Stderr, "usage: mutants [-run REGEXP] [-short] [-list] [-who] [-json] [-parallel 1|2]", err)
		os.Exit(2)
	}
	if *list {
		for _, g := range chosen {
			fmt.Printf("%-60s %s %s (%s)\n", g.Name, g.Package, g.Test, strings.Join(g.IDs, ", "))
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *who {
		if err := witnesses(ctx, chosen); err != nil {
			fmt.Fprintln(os.Stderr, "mutants:", err)
			os.Exit(1)
		}
		return
	}
	start := time.Now()
	passed, failed, err := runAll(ctx, chosen, *parallel, printer(*lines))
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "in %s\n", time.Since(start).Round(time.Second))
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}

func choose(pattern string, short bool) ([]guard.Guard, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	all := guard.All()
	if short {
		all = guard.Short()
	}
	return slices.DeleteFunc(all, func(g guard.Guard) bool {
		return !re.MatchString(g.Name) && !re.MatchString(g.In) && !re.MatchString(g.Test)
	}), nil
}

// outcome is what became of one guard.
type outcome struct {
	Guard   string   `json:"guard"`
	IDs     []string `json:"ids"`
	File    string   `json:"file"`
	Test    string   `json:"test"`
	Package string   `json:"package"`
	Seconds float64  `json:"seconds"`
	Killed  bool     `json:"killed"`
	Says    string   `json:"says"` // what the test asserted, or why the guard counts as failed
	// Left is what the test left behind without the guard: processes, which were ended, and control groups, which were removed.
	Left []string `json:"left,omitempty"`
}

func printer(lines bool) func(outcome) {
	if lines {
		return func(o outcome) {
			if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
				fmt.Fprintln(os.Stderr, "mutants:", err)
				os.Exit(1)
			}
		}
	}
	return func(o outcome) {
		word := "FAILED"
		if o.Killed {
			word = "killed"
		}
		fmt.Printf("%s  %s (%s)\n        %s in %s, %.0f s: %s\n", word, o.Guard, o.File, o.Test, o.Package, o.Seconds, o.Says)
		for _, what := range o.Left {
			fmt.Printf("        left behind, and cleared away: %s\n", what)
		}
	}
}

// runAll takes the guards in the order of the killers' packages, so that what is compiled for one serves the next.
func runAll(ctx context.Context, guards []guard.Guard, parallel int, report func(outcome)) (passed, failed int, err error) {
	root, err := moduleRoot()
	if err != nil {
		return 0, 0, err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(scratch)
	guards = slices.Clone(guards)
	slices.SortStableFunc(guards, func(a, b guard.Guard) int {
		return strings.Compare(a.Package+"\x00"+a.In+"\x00"+a.Test, b.Package+"\x00"+b.In+"\x00"+b.Test)
	})
	r := &runner{root: root}
	unfit, err := r.controls(ctx, filepath.Join(scratch, "control"), guards, parallel)
	if err != nil {
		return 0, 0, err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan guard.Guard)
	for n := range parallel {
		wg.Go(func() {
			for g := range next {
				o := r.judge(ctx, filepath.Join(scratch, fmt.Sprint(n)), g, unfit[key(g)])
				mu.Lock()
				if ctx.Err() == nil {
					report(o)
				}
				if o.Killed {
					passed++
				} else {
					failed++
				}
				mu.Unlock()
			}
		})
	}
	for _, g := range guards {
		select {
		case next <- g:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return passed, failed, ctx.Err()
}

// witnesses prints, for each guard, the tests of the killer's package that fail without it.
func witnesses(ctx context.Context, guards []guard.Guard) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r := &runner{root: root}
	for _, g := range guards {
		m, err := r.mutate(ctx, scratch, g)
		if err != nil {
			fmt.Printf("%s: %v\n", g.Name, err)
			continue
		}
		out, late, _, err := r.run(ctx, m, ".", perControl)
		if err != nil {
			return err
		}
		fmt.Println(g.Name)
		seen := map[string]bool{}
		for _, found := range resultOf.FindAllStringSubmatch(strings.ReplaceAll(out, "\x16", "\n"), -1) {
			test, _, _ := strings.Cut(found[2], "/")
			if v := judge(out, test, late); found[1] == "FAIL" && !seen[test] {
				seen[test] = true
				fmt.Printf("\t%s %s\n", test, brief(v.says))
			}
		}
	}
	return nil
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", fmt.Errorf("run inside the module, not at %q", mod)
	}
	return filepath.Dir(mod), nil
}
