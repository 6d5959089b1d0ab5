// Command contract-ts writes the TypeScript form of the worker contract, and of the texts of its problems. It is run by go
// generate.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "contract-ts:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: contract-ts CONTRACT PROBLEMS")
	}
	problems, err := renderProblems()
	if err != nil {
		return err
	}
	for i, text := range []string{render(), problems} {
		if err := os.MkdirAll(filepath.Dir(args[i]), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(args[i], []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
