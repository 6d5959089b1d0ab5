//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: not-run: there is no sandbox backend to measure on "+runtime.GOOS)
	os.Exit(1)
}
