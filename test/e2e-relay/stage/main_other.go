//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "stage: a local codex needs Linux")
	os.Exit(1)
}
