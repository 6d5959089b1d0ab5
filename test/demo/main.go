// Command demo (in test/) judges a finished demonstration run from outside: it believes no word of the actor, looks at disk,
// audit log, transcript, processes, mounts and control groups itself, and prints what it found.
//
// Usage: go run ./test/demo EVIDENCE-DIR...
package main

import (
	"fmt"
	"os"

	"sekisho/test/demo/evidence"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: demo EVIDENCE-DIR...")
		os.Exit(2)
	}
	passed, failed := 0, 0
	for _, dir := range os.Args[1:] {
		run, err := evidence.Load(dir)
		if err != nil {
			fmt.Printf("FAIL %s: %v\n", dir, err)
			failed++
			continue
		}
		j := &judge{run: run}
		j.examine()
		if len(j.failures) == 0 {
			fmt.Printf("ok   %-13s %s; %d checks\n", run.Name, j.summary(), j.checks)
			passed++
			continue
		}
		failed++
		fmt.Printf("FAIL %-14s\n", run.Name)
		for _, f := range j.failures {
			fmt.Printf("     - %s\n", f)
		}
	}
	if failed == 0 {
		fmt.Println("     nothing left behind: no process, mount, control group, journal, temporary file or instance directory")
	}
	if len(os.Args) > 2 {
		fmt.Printf("%d passed, %d failed\n", passed, failed)
	} else if failed == 0 {
		fmt.Println("DEMO OK")
	}
	if failed > 0 {
		os.Exit(1)
	}
}
