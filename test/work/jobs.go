//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// files writes the files of a project.
func files(texts map[string]string) func(dir string) error {
	return func(dir string) error {
		var errs []error
		for name, text := range texts {
			path := filepath.Join(dir, name)
			errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		}
		return errors.Join(errs...)
	}
}

// says is a judge that wants a word in the output of the last program.
func says(words ...string) func(string, []result) (string, error) {
	return func(_ string, results []result) (string, error) {
		if len(results) == 0 {
			return "", errors.New("no program ran")
		}
		for _, w := range words {
			if out := results[len(results)-1].output; !strings.Contains(out, w) {
				return "", fmt.Errorf("the last program did not say %q:\n%s", w, clip(out))
			}
		}
		return fmt.Sprintf("%d programs, %q", len(results), words[0]), nil
	}
}

// goBuild is the elapsed time of the first build of the Go module, for the warm one.
var goBuild time.Duration

func jobs() []job {
	goSteps := []step{run("go", "vet", "./..."), run("go", "build", "-o", "server", "."), run("go", "test", "./...")}
	return []job{
		{name: "go-cold", dir: "go", prepare: files(goModule), steps: goSteps, judge: func(dir string, r []result) (string, error) {
			if _, err := os.Stat(dir + "/server"); err != nil {
				return "", err
			}
			goBuild = elapsed(r)
			return "vet, build (net/http), test; the first task of this workspace", nil
		}},
		{name: "go-warm", dir: "go", steps: append(append([]step{}, goSteps...), step{program: "./server", args: []string{"-version"}}), judge: func(_ string, r []result) (string, error) {
			if !strings.Contains(r[len(r)-1].output, "go module 1") {
				return "", fmt.Errorf("the server said %q", r[len(r)-1].output)
			}
			warm := elapsed(r[:len(r)-1])
			if warm*2 > goBuild {
				return "", fmt.Errorf("the caches of HOME are cold: %v, then %v", goBuild, warm)
			}
			return fmt.Sprintf("another task, the same again: %.1f s, %.0f %% of the first time (%.1f s)", warm.Seconds(), 100*warm.Seconds()/goBuild.Seconds(), goBuild.Seconds()), nil
		}},
		{name: "go-race", dir: "go", steps: []step{run("go", "test", "-race", "./...")}, judge: says("ok")},
		{name: "python", prepare: files(pythonProject), steps: []step{run("python3", "pools.py"), run("pytest", "-q", "-p", "no:cacheprovider")}, judge: says("3 passed")},
		{name: "venv", prepare: files(pythonPackage), steps: []step{
			run("python3", "-m", "venv", "--system-site-packages", ".venv"),
			run("pip", "--version"),
			run(".venv/bin/pip", "install", "-q", "--no-index", "--no-build-isolation", "--no-deps", "./pkg"),
			run(".venv/bin/greet"),
		}, judge: says("greetings from")},
		{name: "npm", registry: true, prepare: files(map[string]string{"package.json": `{"name":"project","version":"1.0.0","scripts":{"test":"node --test"},"dependencies":{"next-number":"^1.0.0"}}`,
			"number.test.js": "const test = require('node:test'); const assert = require('node:assert');\ntest('number', () => assert.equal(require('next-number'), 42));\n"}),
			steps: []step{run("npm", "install"), run("npm", "test"), run("npx", "next-number"), run("npm", "ci")}, judge: func(dir string, r []result) (string, error) {
				built, err := os.ReadFile(dir + "/node_modules/next-number/built")
				if err != nil || string(built) != "by the install script" || !strings.Contains(r[2].output, "42") {
					return "", fmt.Errorf("install script %q, npx %q: %w", built, r[2].output, err)
				}
				return "install from a registry on the allowed port, its install script, test, npx, ci", nil
			}},
		{name: "servers", registry: true, prepare: files(serverProject), steps: []step{run("python3", "server.py"), run("node", "server.mjs")}, judge: says("node answers 200")},
		{name: "node", prepare: files(nodeProject), steps: []step{run("node", "workers.mjs"), run("node", "children.cjs")}, judge: says("children 4")},
		{name: "git", prepare: gitRepository, steps: []step{
			run("git", "add", "."), run("git", "commit", "-q", "-m", "Add a file"), run("git", "switch", "-q", "-c", "topic"),
			run("git", "commit", "-q", "--allow-empty", "-m", "On a branch"), run("git", "merge", "-q", "--no-ff", "main", "-m", "Merge"),
			run("git", "clone", "-q", ".", "/tmp/clone"), run("git", "-C", "/tmp/clone", "log", "--format=%an: %s"), run("git", "fsck", "--strict"), run("git", "gc", "-q"),
		}, judge: gitJudge},
		{name: "c", prepare: files(cProject), steps: []step{run("make", "-j4"), run("./calc", "6", "7"), run("make", "test"), run("gcc", "--version")}, judge: says("gcc")},
		{name: "shell", prepare: files(map[string]string{"configure": "#!/bin/sh\nset -e\nprintf 'built by %s\\n' \"$0\" >config.status\nsleep 0.1 & wait\nmktemp >/dev/null\nsh -c 'trap \"exit 0\" TERM; kill -TERM $$; sleep 5'\n"}),
			steps: []step{run("sh", "-c", "chmod +x configure"), run("./configure"), run("sh", "-c", "cat config.status | tr a-z A-Z | sort | head -n 1; echo $((1+1)) >&2; set -o | grep -c .")}, judge: says("BUILT BY")},
		{name: "long-build", prepare: files(longBuild), steps: []step{run("make", "-j4", "endless")}, cancel: "running", judge: cancelled},
		{name: "after", dir: "long-build", steps: []step{run("sh", "-c", "echo still here; ls -A /tmp | wc -l")}, judge: says("still here")},
		{name: "breaks", prepare: files(breaks), steps: []step{
			{program: "python3", args: []string{"-c", "import socket; socket.socket(socket.AF_UNIX)"}, fails: "Operation not permitted"},
			{program: "python3", args: []string{"manager.py"}, fails: "Operation not permitted"},
			{program: "sh", args: []string{"-c", "mkdir s && chmod g+s s"}, fails: "Operation not permitted"},
			{program: "node", args: []string{"-e", "require('os').networkInterfaces()"}, fails: "uv_interface_addresses"},
			{program: "sh", args: []string{"-c", "unshare -Ur true"}, fails: "Operation not permitted"},
		}, judge: func(_ string, r []result) (string, error) {
			return fmt.Sprintf("%d things that docs/what-works-inside.md says do not work, do not", len(r)), nil
		}},
	}
}

// elapsed is the sum of the times that the programs took.
func elapsed(results []result) time.Duration {
	var sum time.Duration
	for _, r := range results {
		sum += time.Duration(r.ElapsedMS) * time.Millisecond
	}
	return sum
}

// gitRepository is made on the host, as a person's repository is: its configuration and hooks are read-only inside (A-POL-13).
func gitRepository(dir string) error {
	cmd := exec.Command("git", "init", "-q", "-b", "main", dir)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git init: %w: %s", err, out)
	}
	return files(map[string]string{"README": "text\n"})(dir)
}

func gitJudge(dir string, r []result) (string, error) {
	cmd := exec.Command("git", "-c", "safe.directory=*", "-C", dir, "log", "--all", "--format=%an: %s")
	log, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(log), "A Person: Add a file") || !strings.Contains(string(log), "On a branch") {
		return "", fmt.Errorf("the host's git sees %q: %w", log, err)
	}
	if !strings.Contains(r[6].output, "A Person: Add a file") {
		return "", fmt.Errorf("the clone's log is %q", r[6].output)
	}
	return "add, commit, branch, merge, clone into TEMP, fsck, gc; the host's git reads it", nil
}

// cancelled wants nothing left of the build: no process that has its directory, and no growing file.
func cancelled(dir string, _ []result) (string, error) {
	size := func() int64 {
		st, err := os.Stat(dir + "/running")
		if err != nil {
			return -1
		}
		return st.Size()
	}
	before := size()
	time.Sleep(300 * time.Millisecond) // the build appends every 20 ms
	if after := size(); before < 1 || after != before {
		return "", fmt.Errorf("the build goes on: %d bytes, then %d", before, after)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.Contains(string(line), "endless-marker") {
			var st syscall.Stat_t
			syscall.Stat("/proc/"+e.Name(), &st)
			return "", fmt.Errorf("process %s of uid %d is left: %q", e.Name(), st.Uid, line)
		}
	}
	return "ended with its daemon and its 4 jobs, nothing left", nil
}
