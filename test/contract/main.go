// Command contract checks the pinned contract: it generates the four surfaces with the pinned CLIs and fails on anything
// that is not recorded (R-CON-02). With -update it records what it found instead; the change is reviewed like code.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sekisho/internal/fileop"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/contract"
	"sekisho/internal/strictjson"
)

func main() {
	update := flag.Bool("update", false, "record what is found")
	report := flag.String("report", "", "write the full report to this file")
	flag.Parse()
	if err := run(*update, *report); err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

func run(update bool, report string) error {
	manifest, err := contract.Load()
	if err != nil {
		return err
	}
	root, err := contract.CacheRoot()
	if err != nil {
		return err
	}
	outcome, err := contract.Check(context.Background(), contract.OpenCache(fileop.OS(), root, manifest), install)
	if err != nil {
		return err
	}
	if report != "" {
		f, err := os.Create(report)
		if err != nil {
			return err
		}
		if err := errors.Join(outcome.WriteReport(f), f.Close()); err != nil {
			return err
		}
	}
	if update {
		return record(outcome)
	}
	for _, p := range outcome.Problems {
		fmt.Println(p)
	}
	if n := len(outcome.Problems); n > 0 {
		return fmt.Errorf("%d unexpected", n)
	}
	fmt.Printf("contract: four surfaces of %s and %s are as recorded\n", manifest.Regression, manifest.Target)
	return nil
}

// install runs scripts/codex, which verifies what it fetches.
func install(version string) (string, error) {
	cmd := exec.Command("scripts/codex", version)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func record(o *contract.Outcome) error {
	const dir = "internal/relay/contract"
	for _, surface := range []codex.Surface{codex.Standard, codex.Experimental} {
		text := strings.Join(o.Differences[surface], "\n") + "\n"
		if err := os.WriteFile(filepath.Join(dir, "expected-"+string(surface)+".txt"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	data, err := strictjson.Marshal(o.Pinned)
	if err != nil {
		return err
	}
	// One method a line, so that a change of one shows as a change of one.
	text := strings.NewReplacer(`{"`, "{\n\"", `","`, "\",\n\"", `},"`, "},\n\"").Replace(string(data))
	return os.WriteFile(filepath.Join(dir, "pinned.json"), []byte(text+"\n"), 0o644)
}
