package matrix

import (
	"errors"
	"os"
	"path/filepath"

	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/resolve"
)

// layout is one fixture. Two of the same shape exist per case: the real one, which the sandbox is given, and its twin,
// on which the control runs.
type layout struct {
	dir string
	// W is the workspace, Evil a directory beside it whose name begins with W's, R a read-only mount, RW a mount that may be
	// written but not deleted from (development only), Tools a runtime root with the payload, S a secret outside every root.
	W, Evil, R, RW, Tools, S, Payload string
	// Token marks this fixture's bytes wherever they turn up; Secret is what S holds.
	Token, Secret string
	// Victim is the process that attacks on others aim at: PID 1 of the sandbox, or a bystander on the host; Address is
	// where the bystander keeps Secret.
	Victim  int
	Address string
}

// makeLayout makes a fixture in dir, which does not exist yet.
func makeLayout(dir, payload string) (*layout, error) {
	l := &layout{dir: dir, Token: "token-" + filepath.Base(dir), Secret: "secret-" + filepath.Base(dir), Victim: 1, Address: "0"}
	l.W, l.Evil, l.R, l.RW, l.Tools = dir+"/w", dir+"/w-evil", dir+"/r", dir+"/rw", dir+"/tools"
	l.S, l.Payload = dir+"/outside/secret", dir+"/tools/payload"
	var errs []error
	for _, d := range []string{dir, l.W, l.Evil, l.R, l.RW, l.Tools, dir + "/outside", dir + "/temp", dir + "/home"} {
		errs = append(errs, os.Mkdir(d, 0o755))
	}
	errs = append(errs, copyFile(payload, l.Payload), l.write(l.S, l.Secret), l.write(l.Evil+"/s", l.Secret))
	for _, root := range []string{l.W, l.R, l.RW} {
		errs = append(errs, os.MkdirAll(root+"/d/e", 0o755), os.Mkdir(root+"/empty", 0o755))
		for _, f := range []string{"f", "g", "u", "d/f"} {
			errs = append(errs, l.write(root+"/"+f, "old"))
		}
		errs = append(errs, copyFile("/usr/bin/true", root+"/true"))
	}
	return l, errors.Join(errs...)
}

func (l *layout) write(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

// reads returns the file's text, or "" when there is none.
func reads(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

// there tells whether a name exists, without following it.
func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// declare is the policy of the layout as a configuration would declare it, resolved.
func (l *layout) declare(profile, cgroup string) (policy.SandboxPolicy, error) {
	p := policy.SandboxPolicy{Profile: profile, Resources: policy.Resources{Profile: "normal", MemoryMB: 512, TimeoutSeconds: 60, Cgroup: cgroup}}
	p.Network.Access = "none"
	w, err := directory(l.W)
	if err != nil {
		return p, err
	}
	p.Workspaces = []policy.Directory{w}
	r, err := directory(l.R)
	if err != nil {
		return p, err
	}
	p.Mounts = []policy.Mount{{Directory: r, Access: policy.AccessReadOnly}}
	if profile == policy.ProfileDevelopment {
		rw, err := directory(l.RW)
		if err != nil {
			return p, err
		}
		p.Mounts = append(p.Mounts, policy.Mount{Directory: rw, Access: policy.AccessReadWrite})
	}
	tools, err := directory(l.Tools)
	if err != nil {
		return p, err
	}
	for alias, path := range map[string]string{"payload": l.Payload, "sh": "/bin/sh"} {
		e, err := entry(alias, path)
		if err != nil {
			return p, err
		}
		if alias == "payload" {
			e.RuntimeRoot = &tools
		}
		p.Entries = append(p.Entries, e)
	}
	system, err := resolve.OSRuntime()
	if err != nil {
		return p, err
	}
	for _, s := range system {
		p.OSRuntime = append(p.OSRuntime, policy.Directory{Declared: s.Declared, Path: s.Path, ID: s.ID, Filesystem: s.Filesystem})
	}
	return p, nil
}

func directory(path string) (policy.Directory, error) {
	r, err := resolve.Root(path)
	return policy.Directory{Declared: path, Path: r.Path, ID: r.ID, Filesystem: r.Filesystem}, err
}

func entry(alias, path string) (policy.Entry, error) {
	e, err := resolve.Executable(path)
	out := policy.Entry{Alias: alias, Declared: path, Path: e.Path, ID: e.ID, SHA256: e.SHA256, Filesystem: e.Filesystem}
	for _, in := range e.Interpreters {
		out.Interpreters = append(out.Interpreters, policy.Interpreter(in))
	}
	return out, err
}
