//go:build linux

package main

import "testing"

// Every case of the list is attempted, and every attempt is a case.
//
// proves A-SBX-04
func TestEveryCaseHasAnAttempt(t *testing.T) {
	if err := (&runner{}).listed("../../docs/cases/sandbox-attacks.md"); err != nil {
		t.Error(err)
	}
}
