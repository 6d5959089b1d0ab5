//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/fileop"
)

// Select chooses the place. setting is "auto" or an absolute cgroup directory that this user may write; with version 1
// it lies in one hierarchy and the same path below the others' mounts is used there. "auto" takes, in this order, the
// nearest version 2 group at or above this process's own that gives memory and pids to its children and lets this user
// make some; or the process's own version 1 groups. Without a usable place the error is
// fault.ResourceMemoryUnenforceable and names the command that helps.
func Select(setting string, files fileop.FS) (Driver, error) {
	m, err := thisMachine()
	if err != nil {
		return nil, unreadable(setting, err)
	}
	return m.choose(setting, files)
}

func unreadable(setting string, err error) error {
	return refusal("mount", "/proc/self", "sudo mount -t proc proc /proc", setting, err)
}

func (m *machine) choose(setting string, files fileop.FS) (Driver, error) {
	if setting != "auto" {
		return m.configured(filepath.Clean(setting), files)
	}
	var reasons []error
	if u, ok := m.unified(); ok {
		for dir := u.dir(m.own[""]); dir != "" && within(u.point, dir); dir = filepath.Dir(dir) {
			if err := m.usable2(u, dir); err == nil {
				return &driver{files: files, places: []place{{Version: 2, Controllers: []string{memory, pids}, Parent: dir}}}, nil
			} else {
				reasons = append(reasons, err)
			}
		}
	}
	d, err := m.version1(files, func(c string, mt mount) string { return mt.dir(m.own[c]) })
	if err == nil {
		return d, nil
	}
	return nil, m.refuse(setting, errors.Join(append(reasons, err)...))
}

func (m *machine) configured(path string, files fileop.FS) (Driver, error) {
	mt, ok := m.holding(path)
	if !ok || !filepath.IsAbs(path) {
		return nil, m.refuse(path, errors.New("not a directory of a mounted control group hierarchy"))
	}
	if mt.version == 2 {
		if err := m.usable2(mt, path); err != nil {
			return nil, m.refuse(path, err)
		}
		return &driver{files: files, places: []place{{Version: 2, Controllers: []string{memory, pids}, Parent: path}}}, nil
	}
	rel, err := filepath.Rel(mt.point, path)
	if err != nil {
		return nil, m.refuse(path, err)
	}
	d, err := m.version1(files, func(_ string, mt mount) string { return filepath.Join(mt.point, rel) })
	if err != nil {
		return nil, m.refuse(path, err)
	}
	return d, nil
}

// usable2 tells whether groups with limits can be made in dir and filled by this process.
func (m *machine) usable2(u mount, dir string) error {
	given, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	for _, c := range []string{memory, pids} {
		if !slices.Contains(strings.Fields(string(given)), c) {
			return fmt.Errorf("%s: controller %s is not given to its children", dir, c)
		}
	}
	if err := writable(dir); err != nil {
		return err
	}
	// The kernel moves a process only for those who may write cgroup.procs of the group that holds both places.
	common := dir
	for own := u.dir(m.own[""]); own != "" && !within(common, own); {
		common = filepath.Dir(common)
	}
	return writable(filepath.Join(common, "cgroup.procs"))
}

// version1 takes one directory per hierarchy; memory and pids are needed, the freezer is welcome.
func (m *machine) version1(files fileop.FS, dir func(controller string, mt mount) string) (*driver, error) {
	d := &driver{files: files}
	for _, c := range []string{memory, pids, freezer} {
		parent, err := "", error(nil)
		if mt, ok := m.hierarchy(c); !ok {
			err = fmt.Errorf("controller %s is in no mounted hierarchy", c)
		} else if parent = dir(c, mt); parent == "" {
			err = fmt.Errorf("this process's group of controller %s is outside its mount", c)
		} else {
			err = writable(parent)
		}
		if err != nil && c != freezer {
			return nil, err
		}
		if err != nil {
			continue
		}
		if i := slices.IndexFunc(d.places, func(p place) bool { return p.Parent == parent }); i >= 0 {
			d.places[i].Controllers = append(d.places[i].Controllers, c) // mounted together
			continue
		}
		d.places = append(d.places, place{Version: 1, Controllers: []string{c}, Parent: parent})
	}
	return d, nil
}

func writable(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// refuse tells what was tried, the one command that gives this user a place, and what to configure after it.
func (m *machine) refuse(target string, cause error) error {
	variant, command, setting := "mount", "sudo mount -t cgroup2 cgroup2 /sys/fs/cgroup", target
	memoryMount, v1 := m.hierarchy(memory)
	pidsMount, v1pids := m.hierarchy(pids)
	u, v2 := m.unified()
	switch {
	case v1 && v1pids:
		dirs := []string{memoryMount.point + "/agent-mcp", pidsMount.point + "/agent-mcp"}
		if f, ok := m.hierarchy(freezer); ok {
			dirs = append(dirs, f.point+"/agent-mcp")
		}
		list := strings.Join(slices.Compact(dirs), " ")
		variant, command, setting = "version1", fmt.Sprintf("sudo sh -c 'mkdir -p %s; chown %d %s'", list, os.Geteuid(), list), dirs[0]
	case v2 && target != "auto" && within(u.point, target):
		variant = "group"
		command = fmt.Sprintf("sudo sh -c 'echo +memory +pids > %s/cgroup.subtree_control; chown %d %s %s/cgroup.procs'", target, os.Geteuid(), target, target)
	case v2:
		variant, command, setting = "scope", "systemd-run --user --scope -p Delegate=yes", "auto"
	}
	return refusal(variant, target, command, setting, cause)
}

// refusal has the placeholder {program} filled with this program's file; who knows how it was started replaces that.
func refusal(variant, target, command, setting string, cause error) error {
	program, err := os.Executable()
	if err != nil {
		program = "agent-mcp"
	}
	tried := strings.Join(slices.Compact(strings.Split(cause.Error(), "\n")), "; ")
	return fault.New(fault.ResourceMemoryUnenforceable, fault.Variant(variant), fault.Target(target), fault.Arg("tried", tried), fault.Arg("command", command),
		fault.Arg("setting", setting), fault.Arg("program", program), fault.Cause(cause))
}
