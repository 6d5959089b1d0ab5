//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sekisho/test/mutants/guard"
)

func key(g guard.Guard) string { return g.Package + " " + g.Test }

// known is the file of controls that passed for one state of the tree, machine and toolchain.
type known struct {
	State  string   `json:"state"`
	Passed []string `json:"passed"`
}

// controls runs every killer with all guards in place, each package once, at most parallel at a time. It returns why a killer is
// no judge, by key. What passed is remembered until anything in the tree changes.
func (r *runner) controls(ctx context.Context, dir string, guards []guard.Guard, parallel int) (map[string]string, error) {
	state, err := r.state()
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(cache, "sekisho-mutants", fmt.Sprintf("%x", sha256.Sum256([]byte(r.root)))[:16]+".json")
	passed := remembered(file, state)
	type group struct {
		pkg     string
		sandbox bool
	}
	todo := map[group]map[string]bool{}
	unfit := map[string]string{}
	for _, g := range guards {
		killer, err := guard.FindKiller(r.root, g)
		if err != nil {
			return nil, err
		}
		if killer == nil {
			unfit[key(g)] = fmt.Sprintf("%s has no test %s", g.Package, g.Test)
			continue
		}
		if passed[key(g)] {
			continue
		}
		k := group{g.Package, killer.Sandbox}
		if todo[k] == nil {
			todo[k] = map[string]bool{}
		}
		todo[k][g.Test] = true
	}
	var mu sync.Mutex // passed, unfit, errs
	var errs []error
	var wg sync.WaitGroup
	places := make(chan string, parallel)
	for n := range parallel {
		places <- filepath.Join(dir, fmt.Sprint(n))
	}
	for k, asked := range todo {
		place := <-places
		wg.Go(func() {
			defer func() { places <- place }()
			names := slices.Sorted(maps.Keys(asked))
			why, err := r.control(ctx, place, tests{pkg: k.pkg, sandbox: k.sandbox}, names)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			for _, name := range names {
				if id := k.pkg + " " + name; why[name] != "" {
					unfit[id] = why[name]
				} else if err == nil {
					passed[id] = true
				}
			}
			errs = append(errs, remember(file, known{state, slices.Sorted(maps.Keys(passed))}))
		})
	}
	wg.Wait()
	return unfit, errors.Join(errs...)
}

// control runs tests of one package with all guards in place, and tells of each that does not pass why.
func (r *runner) control(ctx context.Context, dir string, t tests, names []string) (map[string]string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	t.program = filepath.Join(dir, "control.test")
	if err := r.build(ctx, t); err != nil {
		return nil, fmt.Errorf("%s with all guards in place: %w", t.pkg, err)
	}
	out, late, left, err := r.run(ctx, t, "^("+strings.Join(names, "|")+")$", perControl)
	for _, what := range left {
		fmt.Fprintf(os.Stderr, "with all guards in place, %s leaves behind: %s\n", t.pkg, what)
	}
	if err != nil {
		return nil, err
	}
	why := map[string]string{}
	for _, name := range names {
		if v := judge(out, name, late); v.says != survived(name) {
			why[name] = fmt.Sprintf("with the guard in place, %s must pass: %s", name, v.says)
		}
	}
	return why, nil
}

func remembered(file, state string) map[string]bool {
	passed := map[string]bool{}
	var k known
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &k) == nil && k.State == state {
		for _, id := range k.Passed {
			passed[id] = true
		}
	}
	return passed
}

func remember(file string, k known) error {
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// state is a digest of everything that a control depends on: the tree as it is, the toolchain, the kernel, the user.
func (r *runner) state() (string, error) {
	h := sha256.New()
	version, err := exec.Command("go", "version").Output()
	if err != nil {
		return "", err
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	fmt.Fprintf(h, "%s %s %d\n", version, kernel, os.Geteuid())
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = r.root
	names, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		if strings.HasPrefix(name, "test/mutants/") || name == "docs/assurance.md" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		fmt.Fprintf(h, "%s %d %x\n", name, len(data), sha256.Sum256(data))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
