//go:build linux

package delegate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Group is a control group given to a user.
type Group struct {
	// Setting is what that user writes into sandbox.resources.cgroup.
	Setting string
	// Home is the directory that the user's own processes must be started in (version 2), or "".
	Home string
	made []string
}

// Give makes a group for uid. It needs root.
func Give(uid int) (*Group, error) {
	g := &Group{}
	name := fmt.Sprintf("sekisho-given-%d", os.Getpid())
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	points := map[string]string{} // by controller; "" is version 2
	for line := range strings.Lines(string(mounts)) {
		left, right, _ := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 5 || len(r) < 3 || l[3] != "/" {
			continue
		}
		switch r[0] {
		case "cgroup2":
			points[""] = l[4]
		case "cgroup":
			for c := range strings.SplitSeq(r[2], ",") {
				points[c] = l[4]
			}
		}
	}
	if unified := points[""]; unified != "" && gives(unified) {
		err = g.unified(unified, string(own), name, uid)
	} else {
		err = g.legacy(points, name, uid)
	}
	if err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}

func gives(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	f := strings.Fields(string(text))
	return err == nil && slices.Contains(f, "memory") && slices.Contains(f, "pids")
}

// unified gives a group with both controllers for its children, and one of them as the user's home: moving a process needs
// the right to write cgroup.procs of the group that holds both places.
func (g *Group) unified(mount, own, name string, uid int) error {
	parent := mount
	for line := range strings.Lines(own) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			for dir := filepath.Join(mount, path); dir != mount; dir = filepath.Dir(dir) {
				if gives(dir) {
					parent = dir
					break
				}
			}
		}
	}
	g.Setting, g.Home = filepath.Join(parent, name), filepath.Join(parent, name, "home")
	if err := g.mkdir(g.Setting); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(g.Setting, "cgroup.subtree_control"), []byte("+memory +pids"), 0); err != nil {
		return err
	}
	return errors.Join(g.mkdir(g.Home), chown(uid, g.Setting, g.Setting+"/cgroup.procs", g.Home, g.Home+"/cgroup.procs"))
}

func (g *Group) legacy(points map[string]string, name string, uid int) error {
	for _, c := range []string{"memory", "pids", "freezer"} {
		point := points[c]
		if point == "" {
			continue
		}
		dir := filepath.Join(point, name)
		if slices.Contains(g.made, dir) {
			continue
		}
		if err := errors.Join(g.mkdir(dir), chown(uid, dir)); err != nil {
			return err
		}
		if c == "memory" {
			g.Setting = dir
		}
	}
	if g.Setting == "" {
		return errors.New("this machine has no control group for memory")
	}
	return nil
}

func (g *Group) mkdir(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		g.made = append(g.made, dir)
	}
	return err
}

func chown(uid int, paths ...string) error {
	for _, p := range paths {
		if err := os.Chown(p, uid, uid); err != nil {
			return err
		}
	}
	return nil
}

// Remove takes the group away; an error means that something was left in it.
func (g *Group) Remove() error {
	var errs []error
	for _, dir := range slices.Backward(g.made) {
		errs = append(errs, os.Remove(dir))
	}
	return errors.Join(errs...)
}
