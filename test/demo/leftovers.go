package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// leftovers checks that no process, mount, control group, journal or temporary file of the run is left on this machine.
func (j *judge) leftovers() {
	for _, pid := range j.run.PIDs {
		exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
		j.check(err != nil || exe != j.run.Program, "the server's process %d is still alive", pid)
	}
	entries, err := os.ReadDir("/proc")
	j.check(err == nil, "cannot read /proc: %v", err)
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		j.process(e.Name())
	}
	for _, root := range []string{"/sys/fs/cgroup"} {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				j.check(!strings.Contains(d.Name(), j.run.TaskID), "control group %s is left", path)
			}
			return nil
		})
	}
	filepath.WalkDir(j.run.StateRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		rel, _ := filepath.Rel(j.run.StateRoot, path)
		switch {
		case strings.Contains(rel, j.run.TaskID):
			j.check(false, "%s is left in the state root", rel)
		case strings.HasPrefix(rel, "instances/"):
			j.check(false, "instance state %s is left", rel)
		}
		return nil
	})
	filepath.WalkDir(j.run.Workspace, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(j.run.Workspace, path); err == nil {
			j.check(!strings.HasSuffix(rel, ".tmp") && !strings.Contains(rel, "sekisho"), "%s is left in the workspace", rel)
		}
		return nil
	})
}

// process checks that one process neither lies in the run's directories nor mounts them in a namespace of its own.
func (j *judge) process(pid string) {
	for _, link := range []string{"cwd", "exe", "root"} {
		target, err := os.Readlink(filepath.Join("/proc", pid, link))
		if err == nil && link == "exe" && target == j.run.Program {
			j.check(false, "process %s runs %s", pid, target)
		}
		if err == nil && link == "cwd" && (target == j.run.Workspace || strings.HasPrefix(target, j.run.Workspace+"/")) {
			j.check(false, "process %s works in the workspace", pid)
		}
	}
	mounts, err := os.ReadFile(filepath.Join("/proc", pid, "mountinfo"))
	if err == nil {
		j.check(!bytes.Contains(mounts, []byte(j.run.Workspace)) && !bytes.Contains(mounts, []byte(j.run.StateRoot)), "process %s has a mount of the run", pid)
	}
}
