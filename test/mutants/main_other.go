//go:build !linux

// Command mutants needs Linux: its tests make sandboxes.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "mutants: the tests that judge the guards need Linux")
	os.Exit(1)
}
