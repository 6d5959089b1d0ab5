//go:build linux

package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sekisho/internal/sandbox/linux/mounts"
)

// machine is what the kernel says about control groups and this process.
type machine struct {
	mounts []mount
	own    map[string]string // this process's group by controller; "" is version 2
}

// mount is one mounted hierarchy, or the part of it below root.
type mount struct {
	version     int
	root, point string
	controllers []string // version 1 only
}

func thisMachine() (*machine, error) {
	info, err := mounts.Host().Text()
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("reading this process's control groups: %w", err)
	}
	return &machine{parsed.of(info), parseOwn(string(own))}, nil
}

// parsed is the last list of mounts that was read, which is nearly always the next one, too.
var parsed mountsOf

type mountsOf struct {
	mu     sync.Mutex
	info   string
	mounts []mount
}

func (p *mountsOf) of(info string) []mount {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mounts == nil || p.info != info {
		p.info, p.mounts = info, parseMounts(info)
	}
	return p.mounts
}

// parseMounts reads /proc/self/mountinfo (proc_pid_mountinfo(5)); lines of another shape are other mounts.
func parseMounts(info string) []mount {
	var mounts []mount
	for line := range strings.Lines(info) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 6 || len(r) < 3 {
			continue
		}
		m := mount{root: unescape(l[3]), point: unescape(l[4])}
		switch r[0] {
		case "cgroup2":
			m.version = 2
		case "cgroup":
			m.version = 1
			m.controllers = strings.Split(r[2], ",")
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// parseOwn reads /proc/self/cgroup: lines of id:controllers:path.
func parseOwn(own string) map[string]string {
	groups := map[string]string{}
	for line := range strings.Lines(own) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			groups[c] = f[2]
		}
	}
	return groups
}

// unescape undoes mountinfo's octal escapes for space, tab, newline and backslash.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// hierarchy finds the version 1 mount of a controller.
func (m *machine) hierarchy(controller string) (mount, bool) {
	i := slices.IndexFunc(m.mounts, func(mt mount) bool { return mt.version == 1 && slices.Contains(mt.controllers, controller) })
	if i < 0 {
		return mount{}, false
	}
	return m.mounts[i], true
}

func (m *machine) unified() (mount, bool) {
	i := slices.IndexFunc(m.mounts, func(mt mount) bool { return mt.version == 2 })
	if i < 0 {
		return mount{}, false
	}
	return m.mounts[i], true
}

// holding finds the mount that a path lies in, the deepest one.
func (m *machine) holding(path string) (found mount, ok bool) {
	for _, mt := range m.mounts {
		if within(mt.point, path) && (!ok || len(mt.point) > len(found.point)) {
			found, ok = mt, true
		}
	}
	return found, ok
}

// dir is the directory of a group under the mount, or "" when the mount does not show it.
func (mt mount) dir(group string) string {
	if group == "" || !within(mt.root, group) {
		return ""
	}
	rel, err := filepath.Rel(mt.root, group)
	if err != nil {
		return ""
	}
	return filepath.Join(mt.point, rel)
}

// within compares clean absolute paths element by element.
func within(root, path string) bool {
	return root == path || root == "/" && strings.HasPrefix(path, "/") || strings.HasPrefix(path, root+"/")
}
