//go:build linux

package main

// setIDOld are the calls that only amd64 kept.
func setIDOld(string, uintptr, uintptr) (string, error) { return "", errUsage }
