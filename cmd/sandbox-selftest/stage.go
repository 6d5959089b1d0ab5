//go:build linux

package main

import "sekisho/internal/sandbox/matrix"

// stage makes the rows about the program around the sandbox.
type stage struct {
	dir, program, crashing, cgroup string
}

func (s *stage) rows() []matrix.Case { return nil }
