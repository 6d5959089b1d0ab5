//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "work: only Linux has a sandbox yet")
	os.Exit(1)
}
