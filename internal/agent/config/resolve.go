package config

import (
	"errors"
	"path/filepath"
	"runtime"
	"unicode/utf8"

	"sekisho/internal/agent/config/applied"
	"sekisho/internal/agent/config/reserved"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/resolve"
	"sekisho/internal/yamltree"
)

// errNotUTF8 reports a path that a snapshot could not hold exactly.
var errNotUTF8 = errors.New("the path is not UTF-8")

// Resolved is a configuration as it is on this machine now.
type Resolved struct {
	// Snapshot is what apply would store, and what a start compares.
	Snapshot applied.Snapshot
	// Policy is compiled from Snapshot and the operating system's runtime roots. It is valid only without errors.
	Policy sandbox.EffectivePolicy

	osRuntime []policy.Directory
}

// resolver collects problems at the keys of the declarations.
type resolver struct {
	l        *Loaded
	problems []yamltree.Problem
	faults   []error
	// keys are the paths of the declarations that were resolved, by the policy's section, in the policy's order.
	keys map[policy.Section][]string
}

// Resolve follows every declared path to its object, hashes the entries, and compiles the policy. Every problem is reported
// at the line that declares the thing. The result holds what could be resolved, also when there are problems. It changes
// nothing. When Load has reported errors for l only the problems count, those of single declarations.
func Resolve(l *Loaded) (*Resolved, Problems) {
	r := resolver{l: l, keys: map[policy.Section][]string{}}
	c := l.Config.Sandbox
	out := &Resolved{Snapshot: applied.Snapshot{SchemaVersion: applied.Schema, ConfigPath: l.Places.Config, Fingerprint: l.Fingerprint, Values: l.tree.Flat(),
		Profile: c.Profile, Network: c.Network, Environment: c.Environment, TempMB: c.TempMB, HomeMB: c.HomeMB}}
	s := &out.Snapshot
	for _, w := range c.Workspaces {
		if dir, ok := r.directory(w); ok {
			s.Workspaces = append(s.Workspaces, dir)
			r.key(policy.InWorkspaces, w.Key)
		}
	}
	for _, m := range c.Mounts {
		if dir, ok := r.directory(m.Path); ok && m.Access != "" {
			s.Mounts = append(s.Mounts, applied.MountResolution{Resolution: dir, Access: m.Access})
			r.key(policy.InMounts, m.Item)
		}
	}
	for _, e := range c.Entries {
		if entry, ok := r.entry(e); ok && e.Alias != "" {
			s.Entries = append(s.Entries, entry)
			r.key(policy.InEntries, e.Key)
		}
	}
	out.osRuntime = r.osRuntime()
	var err error
	declared := s.Declared(out.osRuntime)
	declared.Resources = policy.Resources(c.Resources)
	declared.Protected = r.protected()
	declared.ToolConfigWrites = c.AllowToolConfigWrites
	if declared.Machine, err = l.Machine(); err != nil {
		r.failErr("sandbox.network.access", "", err)
	}
	compiled, err := policy.Compile(declared)
	r.compileProblems(err)
	out.Policy = compiled
	if err == nil {
		s.Resources, s.Network = compiled.Resources, compiled.Network
	} else if limits, err := policy.Compile(policy.SandboxPolicy{Profile: s.Profile, Resources: declared.Resources, Network: sandbox.NetworkPolicy{Access: sandbox.NetworkNone}}); err == nil {
		s.Resources = limits.Resources // what is wrong elsewhere does not make them unknown
	}
	r.classes(s, compiled)
	s.Normalize()
	yamltree.Sort(r.problems)
	return out, Problems{Errors: r.problems, config: l.Places.Config, faults: r.faults}
}

func (r *resolver) key(s policy.Section, key string) { r.keys[s] = append(r.keys[s], key) }

func (r *resolver) fail(key string, f *fault.Error) {
	r.faults = append(r.faults, f)
	r.problems = append(r.problems, yamltree.Problem{Pos: r.l.tree.At(key), Path: key, Code: f.Code,
		Text: yamltree.Text{Key: f.SentenceKey(), Args: f.Args}, Accepted: yamltree.Text{Key: f.RemedyKey(), Args: f.Args}})
}

// failErr reports an error of resolution; one without a code of its own is sandbox.resolution_unconfirmed.
func (r *resolver) failErr(key, target string, err error) {
	f := fault.As(err)
	if f == nil {
		f = fault.New(fault.SandboxResolutionUnconfirmed, fault.Target(target), fault.Cause(err))
	}
	r.fail(key, f)
}

func (r *resolver) directory(p Path) (applied.Resolution, bool) {
	root, err := resolve.Root(p.Abs)
	if err == nil && !(utf8.ValidString(root.Path) && utf8.ValidString(p.Abs)) {
		err = errNotUTF8
	}
	if err != nil {
		r.failErr(p.Key, p.Abs, err)
		return applied.Resolution{}, false
	}
	return applied.Resolution{Logical: p.Logical, Declared: spelling(p.Abs, root.Path), Resolved: root.Path, ID: root.ID, Filesystem: root.Filesystem}, true
}

// spelling is what a snapshot keeps of a declared path: nothing when it is the resolved one.
func spelling(declared, resolved string) string {
	if declared == resolved {
		return ""
	}
	return declared
}

func (r *resolver) entry(e Entry) (applied.EntryResolution, bool) {
	out := applied.EntryResolution{Alias: e.Alias, Logical: e.Path.Logical, Environment: e.Environment}
	runtimeOK := true
	if e.RuntimeRoot.Abs != "" {
		var dir applied.Resolution
		if dir, runtimeOK = r.directory(e.RuntimeRoot); runtimeOK {
			out.RuntimeRoot = &dir
		}
	}
	if e.Path.Abs == "" { // Load has said so
		return out, false
	}
	exe, err := resolve.ExecutableIn(e.Path.Abs, r.search(e))
	if err == nil && len(exe.Interpreters) > 0 && scriptsNeedShell {
		err = fault.New(fault.FeatureUnavailable, fault.Variant("script"), fault.Target(e.Path.Abs))
	}
	if err == nil && !(utf8.ValidString(exe.Path) && utf8.ValidString(e.Path.Abs)) {
		err = errNotUTF8
	}
	if err != nil {
		r.failErr(e.Path.Key, e.Path.Abs, err)
		return out, false
	}
	out.Declared = spelling(e.Path.Abs, exe.Path)
	out.Resolved, out.SHA256, out.Filesystem, out.Object = exe.Path, exe.SHA256, exe.Filesystem, exe.ID
	for _, in := range exe.Interpreters {
		out.Interpreters = append(out.Interpreters, applied.InterpreterResolution{Interpreter: in.Interpreter, Filesystem: in.Filesystem, Object: in.ID})
	}
	return out, runtimeOK
}

// scriptsNeedShell is true where a script is no program: an approved entry must be native there (A-POL-11).
var scriptsNeedShell = runtime.GOOS == "windows"

// search is the PATH that an entry's process gets, in which its interpreter is looked for when it says so.
func (r *resolver) search(e Entry) string {
	for _, vars := range []map[string]string{e.Environment, r.l.Config.Sandbox.Environment} {
		if path, ok := vars["PATH"]; ok {
			return path
		}
	}
	return resolve.SystemPath
}

func (r *resolver) osRuntime() []policy.Directory {
	roots, err := resolve.OSRuntime()
	if err != nil {
		r.failErr("", "/usr", err)
	}
	var out []policy.Directory
	for _, root := range roots {
		out = append(out, policy.Directory(root))
	}
	return out
}

// protected lists what no workspace or mount may expose (A-POL-09). A link is protected at both ends: where it lies and
// where it leads.
func (r *resolver) protected() []policy.Protected {
	l, c := r.l, r.l.Config
	type item struct {
		kind, path string
		dir        bool
	}
	items := []item{
		{"configuration", filepath.Join(filepath.Dir(l.Places.Config), OverlayName), false},
		{"executable", l.Places.Executable, false},
		{"prompt", c.Agent.UserSystemPrompt, false},
		{"header_value_file", c.Ollama.HeaderValueFile, false},
		{"state_root", l.Places.StateRoot, true},
		{"cache_root", l.Places.CacheRoot, true},
		{"logs", c.Logging.Directory, true},
		{"locales", c.Localization.Directory, true},
		{"skills", c.Skills.Directory, true},
	}
	for _, f := range l.Files {
		items = append(items, item{"configuration", f, false})
	}
	var out []policy.Protected
	for _, i := range items {
		if i.path == "" {
			continue
		}
		target, err := resolve.Protected(i.path)
		if err != nil {
			r.failErr("sandbox", i.path, err)
			continue
		}
		parent, err := resolve.Protected(filepath.Dir(i.path))
		if err != nil {
			r.failErr("sandbox", i.path, err)
			continue
		}
		out = append(out, policy.Protected{Kind: i.kind, Path: target.Path, Directory: i.dir, Above: target.Above})
		if name := filepath.Join(parent.Path, filepath.Base(i.path)); name != target.Path {
			out = append(out, policy.Protected{Kind: i.kind, Path: name, Directory: i.dir, Above: parent.Above})
		}
	}
	return out
}

// compileProblems puts the policy's reasons at the lines of the declarations.
func (r *resolver) compileProblems(err error) {
	var ps policy.Problems
	if !errors.As(err, &ps) {
		if err != nil {
			r.failErr("sandbox", "", err)
		}
		return
	}
	for _, p := range ps {
		if r.l.flawed && p.Section != policy.InWorkspaces && p.Section != policy.InMounts && p.Section != policy.InEntries {
			continue // a value that Load refused has its default here
		}
		key := p.Where()
		if keys := r.keys[p.Section]; p.Index >= 0 && p.Index < len(keys) {
			key = keys[p.Index]
			if p.Field != "" {
				key = yamltree.Join(key, p.Field)
			}
		}
		r.fail(key, p.Fault)
	}
}

// classes takes each entry's class from the compiled policy, the one place that decides it (A-POL-04).
func (r *resolver) classes(s *applied.Snapshot, p sandbox.EffectivePolicy) {
	for i := range s.Entries {
		for _, e := range p.Entries {
			if e.Alias == s.Entries[i].Alias {
				s.Entries[i].Class = e.Class
			}
		}
	}
}

// Machine tells the servers that no payload may reach, as they are now (A-POL-06).
func (l *Loaded) Machine() (policy.Machine, error) {
	own, _ := l.Config.MCP.HTTPAddr()
	return reserved.Machine(reserved.Config{Access: l.Config.Sandbox.Network.Access, Model: l.Config.Ollama.Endpoint, Own: own, StateRoot: l.Places.StateRoot})
}
