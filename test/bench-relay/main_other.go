//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench-relay: reads /proc; it runs on Linux")
	os.Exit(1)
}
