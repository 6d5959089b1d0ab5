//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v4"
)

// check is one of the suite's verdicts.
type check struct {
	key          `json:"-"`
	CheckID      string `json:"id"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

const success = "SUCCESS"

// good reports that nothing is wrong. INFO is no verdict: the suite tells something.
func (c check) good() bool { return c.Status == success || c.Status == "INFO" }

// resultDir is how the suite names the directory of a scenario's results.
var resultDir = regexp.MustCompile(`^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$`)

// run runs the suite against url and reads what it found. The suite's own exit code says only that something failed.
func (s *suite) run(set, url string, args ...string) ([]check, error) {
	out, err := os.MkdirTemp(s.dir, "results-")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(s.node, append([]string{s.script, "server", "--url", url, "-o", out}, args...)...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	printed, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return nil, fmt.Errorf("the suite: %w\n%s", err, printed)
	}
	dirs, err := os.ReadDir(out)
	if err != nil {
		return nil, err
	}
	var results []check
	for _, d := range dirs {
		name := resultDir.FindStringSubmatch(d.Name())
		if name == nil {
			return nil, fmt.Errorf("the suite left %q", d.Name())
		}
		data, err := os.ReadFile(filepath.Join(out, d.Name(), "checks.json"))
		if err != nil {
			return nil, err
		}
		var checks []check
		if err := json.Unmarshal(data, &checks); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name(), err)
		}
		if len(checks) == 0 {
			return nil, fmt.Errorf("%s %s has no checks", set, name[1])
		}
		for i := range checks {
			checks[i].key = key{set, name[1], checks[i].CheckID}
		}
		results = append(results, checks...)
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("the suite checked nothing:\n%s", printed)
	}
	return results, nil
}

// verdict is what the suite says of a check.
func (c check) verdict() string { return c.Status + ": " + c.ErrorMessage }

// expectation is one reason, what the suite says then (a regular expression of the whole verdict), and what fails so: by set, as
// scenario/check.
type expectation struct {
	Reason string              `yaml:"reason"`
	Says   string              `yaml:"says"`
	Checks map[string][]string `yaml:"checks"`
}

// loadExpected reads how each expected failure fails.
func loadExpected(path string) (map[key]*regexp.Regexp, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []expectation
	decoder := yaml.NewDecoder(f)
	decoder.KnownFields(true)
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	expected := map[key]*regexp.Regexp{}
	for _, e := range list {
		if e.Reason == "" || e.Says == "" || len(e.Checks) == 0 {
			return nil, fmt.Errorf("%s: an entry without a reason, without what the suite says, or without checks", path)
		}
		says, err := regexp.Compile("^(?:" + e.Says + ")$")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for set, names := range e.Checks {
			if !slices.Contains(append(slices.Clone(sets), tasksSet), set) {
				return nil, fmt.Errorf("%s: there is no set %s", path, set)
			}
			for _, name := range names {
				scenario, id := filepath.Split(name)
				k := key{set, filepath.Clean(scenario), id}
				if scenario == "" || id == "" || expected[k] != nil {
					return nil, fmt.Errorf("%s: %s %q is no scenario/check, or is listed twice", path, set, name)
				}
				expected[k] = says
			}
		}
	}
	return expected, nil
}
