package main

import (
	"os"
	"path/filepath"
	"testing"
)

// proves A-CFG-05
func TestInvokedLeadsToTheRunningProgram(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	for _, d := range []string{"bin", "real"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	running := filepath.Join(dir, "real", "agent-mcp")
	for _, f := range []string{running, filepath.Join(dir, "other")} {
		if err := os.WriteFile(f, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "bin", "agent-mcp")
	if err := os.Symlink(running, link); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"agent-mcp": link, "bin/agent-mcp": link, "./real/agent-mcp": running, running: running,
		"./other": running, "gone": running, "": running} {
		if got := invoked(name, running); got != want {
			t.Errorf("invoked(%q) = %s, want %s", name, got, want)
		}
	}
}
