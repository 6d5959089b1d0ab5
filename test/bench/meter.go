//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// meter reads CPU time from a control group of its own, in which this process and everything that it starts run. Rusage
// would not do: the programs of a warm sandbox are reaped by its PID 1, which lives on.
//
// It needs the cpuacct controller of version 1: there a sandbox stays in this group, while with version 2 it moves to the
// one that limits it.
type meter struct {
	home, group string
	reason      string // why it does not work, or ""
}

func newMeter() (*meter, error) {
	home, err := cpuacct()
	if err != nil {
		return &meter{reason: err.Error()}, nil
	}
	m := &meter{home: home, group: filepath.Join(home, fmt.Sprintf("sekisho-bench-%d", os.Getpid()))}
	if err := os.Mkdir(m.group, 0o755); err != nil {
		return &meter{reason: err.Error()}, nil
	}
	if err := m.move(m.group); err != nil {
		return nil, fmt.Errorf("entering the control group of the measurement: %w", err)
	}
	return m, nil
}

// cpuacct is this process's directory in the version 1 hierarchy that counts CPU time.
func cpuacct() (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	path := ""
	for l := range strings.Lines(string(own)) {
		if f := strings.SplitN(strings.TrimSpace(l), ":", 3); len(f) == 3 && has(f[1], "cpuacct") {
			path = f[2]
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	for l := range strings.Lines(string(mounts)) {
		if f := strings.Fields(l); path != "" && len(f) > 3 && f[2] == "cgroup" && has(f[3], "cpuacct") {
			return filepath.Join(f[1], path), nil
		}
	}
	return "", fmt.Errorf("CPU time of a sandbox needs the cpuacct controller of control groups version 1")
}

func has(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

func (m *meter) works() bool { return m.group != "" }

// read returns the time used so far, or 0 without a meter.
func (m *meter) read() (time.Duration, error) {
	if !m.works() {
		return 0, nil
	}
	text, err := os.ReadFile(filepath.Join(m.group, "cpuacct.usage"))
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return time.Duration(n), err
}

func (m *meter) move(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
}

func (m *meter) close() error {
	if !m.works() {
		return nil
	}
	// Whoever is still inside lives as long as this process: the launcher of sandboxes.
	inside, err := os.ReadFile(filepath.Join(m.group, "cgroup.procs"))
	if err != nil {
		return err
	}
	for pid := range strings.FieldsSeq(string(inside)) {
		if err := os.WriteFile(filepath.Join(m.home, "cgroup.procs"), []byte(pid), 0); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	// What has just ended is inside until the kernel is through with it.
	for try := 0; ; try++ {
		err := os.Remove(m.group)
		if !errors.Is(err, syscall.EBUSY) || try == 500 {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
