package main

import (
	"os"
	"os/exec"
	"path/filepath"
)

// invoked is the absolute path by which this program was started, so that commands that are shown can be copied: the name
// that was typed, when it leads to the running file, else the running file itself.
func invoked(name, executable string) string {
	found, err := exec.LookPath(name)
	if err != nil {
		return executable
	}
	found, err = filepath.Abs(found)
	if err != nil {
		return executable
	}
	typed, err := os.Stat(found)
	if err != nil {
		return executable
	}
	running, err := os.Stat(executable)
	if err != nil || !os.SameFile(typed, running) {
		return executable
	}
	return found
}
