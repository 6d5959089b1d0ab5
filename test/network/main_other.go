//go:build !linux

// Command network runs on Linux only.
package main

import "log"

func main() { log.Fatal("the network suite needs Linux") }
