//go:build linux

package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/linux/filter"
	"sekisho/internal/sandbox/linux/mounts"
	"sekisho/internal/sandbox/linux/wire"
)

// Names inside every sandbox.
const (
	tempDir  = "/tmp"
	userName = "agent"
	hostName = "sandbox"
)

// homeDirs are where HOME may be; the first that no root and no link touches is taken.
var homeDirs = []string{"/home/agent", "/.agent-home"}

const (
	shmBytes     = 64 << 20
	scratchBytes = 64 << 20 // temp and home of a throw-away sandbox
)

// view is the visible file system of a policy: what PID 1 mounts, and the Landlock rules on top.
type view struct {
	layout wire.Layout
	rules  []filter.PathRule
	home   string
	// scripts are shown as private copies, which each box gets anew.
	scripts []script
	// mapped tells, for each bind, whether its owner becomes the sandbox's user when the server is root.
	mapped []bool
}

// reserved are the places that a root may neither be nor contain nor, for the marked ones, lie in.
var reserved = []struct {
	path   string
	inside bool
}{{"/proc", true}, {"/dev", true}, {"/sys", true}, {tempDir, false}, {"/etc", false}}

func newView(p *sandbox.EffectivePolicy, id identity) (*view, error) {
	v := &view{scripts: scripts(p)}
	for _, r := range p.Roots {
		for _, s := range reserved {
			if within(r.Path, s.path) || s.inside && within(s.path, r.Path) {
				return nil, fault.New(fault.ConfinementUnsupported, fault.Target(r.Path))
			}
		}
	}
	if err := v.pickHome(p); err != nil {
		return nil, err
	}
	var err error
	if v.layout.Limits, err = mounts.Limits(proc); err != nil {
		return nil, err
	}
	private := sandbox.Read | sandbox.Write | sandbox.Delete
	if p.Profile == "development" {
		private |= sandbox.Execute
	}
	v.rule("/", 0, false)
	v.bind(wire.Bind{Target: "/proc", FD: -1, Proc: true, Make: true}, false)
	v.rule("/proc", sandbox.Read, false)
	v.devices()
	if err := v.own(tempDir, p.Task.Temp, private); err != nil {
		return nil, err
	}
	if err := v.own(v.home, p.Task.Home, private); err != nil {
		return nil, err
	}
	v.etc(id, p.Task.Network.Names)
	v.links(p.Roots)
	v.baseline(p.Baseline)
	v.masked()
	v.roots(p.Roots)
	if err := v.declared(p); err != nil {
		return nil, err
	}
	for _, g := range p.Task.Guards {
		v.layout.Guards = append(v.layout.Guards, wire.Guard{Target: g.Path, File: g.Kind != "directory", ReadOnly: g.Reason != sandbox.GuardPassage})
	}
	return v, nil
}

func (v *view) bind(b wire.Bind, mapped bool) {
	v.layout.Binds = append(v.layout.Binds, b)
	v.mapped = append(v.mapped, mapped)
}

func (v *view) rule(path string, r sandbox.Rights, file bool) {
	v.rules = append(v.rules, filter.PathRule{Path: path, Rights: r, File: file, List: r == 0})
}

func (v *view) link(path, to string) {
	v.layout.Links = append(v.layout.Links, wire.Link{Path: path, To: to})
}

func (v *view) pickHome(p *sandbox.EffectivePolicy) error {
	for _, dir := range homeDirs {
		touches := func(path string) bool { return within(path, dir) || within(dir, path) }
		if !slices.ContainsFunc(p.Roots, func(r sandbox.Root) bool { return touches(r.Path) }) &&
			!slices.ContainsFunc(p.Links, func(l sandbox.Link) bool { return touches(l.Path) }) {
			v.home = dir
			return nil
		}
	}
	return fault.New(fault.ConfinementUnsupported, fault.Target(homeDirs[len(homeDirs)-1]))
}

// hidden are the files of /proc that the kernel shows to everybody and that tell of the host's user: names and counts of its
// keys (A-SBX-04), and what the machine was booted with. The rest that can be read there are statistics of the machine.
var hidden = []string{"keys", "key-users", "cmdline"}

// masked puts a device that cannot be opened over them. A kernel without one of them has none to hide.
func (v *view) masked() {
	for _, name := range hidden {
		path := "/proc/" + name
		if _, err := os.Lstat(path); err == nil {
			v.bind(wire.Bind{Target: path, Source: "/dev/null", FD: -1, File: true, Attr: mounts.Base | mounts.ReadOnly | mounts.NoExec}, false)
		}
	}
}

// devices are the harmless ones, bound one by one: no tty, no ptmx, no kvm, no fuse.
func (v *view) devices() {
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		path := "/dev/" + name
		v.bind(wire.Bind{Target: path, Source: path, FD: -1, File: true, Make: true, Attr: unix.MOUNT_ATTR_NOSUID | mounts.NoExec}, false)
		v.rule(path, sandbox.Read|sandbox.Write, true)
	}
	v.bind(wire.Bind{Target: "/dev/shm", FD: -1, Tmpfs: shmBytes, Make: true, Attr: mounts.Base | mounts.NoExec}, false)
	v.rule("/dev/shm", sandbox.Read|sandbox.Write|sandbox.Delete, false)
	v.link("/dev/fd", "/proc/self/fd")
	v.link("/dev/stdin", "/proc/self/fd/0")
	v.link("/dev/stdout", "/proc/self/fd/1")
	v.link("/dev/stderr", "/proc/self/fd/2")
}

// own mounts one of the task's private directories; without one (a throw-away sandbox) a small tmpfs.
func (v *view) own(target, source string, r sandbox.Rights) error {
	b := wire.Bind{Target: target, Source: source, FD: -1, Make: true, Attr: mounts.Attr(r)}
	if source == "" {
		b.Tmpfs = scratchBytes
	} else {
		var st unix.Stat_t
		if err := unix.Lstat(source, &st); err != nil {
			return fmt.Errorf("private directory of the task: %w", &os.PathError{Op: "lstat", Path: source, Err: err})
		}
		b.ID = sandbox.FileID{Dev: uint64(st.Dev), Ino: st.Ino}
	}
	v.bind(b, true)
	v.rule(target, r, false)
	return nil
}

// roots mounts the granted roots, parents first. A single file inside a directory root that grants as much is there
// already.
func (v *view) roots(roots []sandbox.Root) {
	roots = slices.Clone(roots)
	slices.SortFunc(roots, func(a, b sandbox.Root) int { return strings.Compare(a.Path+"/", b.Path+"/") })
	for i, r := range roots {
		var around *sandbox.Root
		for j := range roots[:i] {
			if !roots[j].File && within(roots[j].Path, r.Path) && r.Path != roots[j].Path {
				around = &roots[j]
			}
		}
		if r.File && (around != nil && around.Rights.Has(r.Rights) || v.isScript(r.Path)) {
			continue
		}
		v.bind(wire.Bind{Target: r.Path, Source: r.Path, FD: -1, ID: r.ID, File: r.File, Attr: mounts.Attr(r.Rights), Make: around == nil},
			!slices.Contains(r.Origins, sandbox.OriginOSRuntimeRoot))
		v.rule(r.Path, r.Rights, r.File)
	}
}

// links repeats the host's links of a merged /usr, where their target is visible.
func (v *view) links(roots []sandbox.Root) {
	for _, path := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		to, err := os.Readlink(path)
		if err != nil {
			continue // a directory is a root of its own, or not granted
		}
		target := to
		if !filepath.IsAbs(to) {
			target = "/" + to
		}
		if slices.ContainsFunc(roots, func(r sandbox.Root) bool { return !r.File && within(r.Path, filepath.Clean(target)) }) {
			v.link(path, to)
		}
	}
}

// declared makes the links by which roots were declared (A-POL-02), so that a process can use the paths that a person
// knows. They lie in the private root, which nobody can change, and lead where they led at apply. A path inside a root is
// the root's own content; below another link it is reached through that. A link in the way of anything is refused: no
// compiled policy has one.
func (v *view) declared(p *sandbox.EffectivePolicy) error {
	for _, l := range p.Links {
		for _, s := range reserved {
			if within(l.Path, s.path) || within(s.path, l.Path) {
				return fault.New(fault.ConfinementUnsupported, fault.Target(l.Path))
			}
		}
		covered := slices.ContainsFunc(p.Roots, func(r sandbox.Root) bool { return within(r.Path, l.Path) }) ||
			slices.ContainsFunc(v.layout.Links, func(o wire.Link) bool { return within(o.Path, l.Path) })
		if covered {
			continue
		}
		if slices.ContainsFunc(p.Roots, func(r sandbox.Root) bool { return within(l.Path, r.Path) }) {
			return fault.New(fault.ConfinementUnsupported, fault.Target(l.Path))
		}
		v.link(l.Path, l.Target)
	}
	return nil
}

// within reports whether path is root or lies below it, by element.
func within(root, path string) bool {
	return root == path || root == "/" || strings.HasPrefix(path, root+"/")
}
