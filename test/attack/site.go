//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// layout is one fixture. Two of the same shape exist for each case: the real one, which the product is given, and its twin
// for the control.
type layout struct {
	// Dir holds everything: W the workspace, Evil a directory beside it whose name begins with W's, R a read-only mount, RW one that may
	// be written but not deleted from, Tools a runtime root with the payload, S a secret outside every root.
	Dir, W, Evil, R, RW, Tools, S, Payload string
	// Token marks this fixture's bytes wherever they turn up; Secret is what S holds.
	Token, Secret string
	// Victim is the process that attacks on others aim at, and Address where a process of the host keeps Secret.
	Victim, Address string
}

func makeLayout(dir, payload string) (*layout, error) {
	name := filepath.Base(filepath.Dir(dir)) + "-" + filepath.Base(dir)
	l := &layout{Dir: dir, W: dir + "/w", Evil: dir + "/w-evil", R: dir + "/r", RW: dir + "/rw", Tools: dir + "/tools", S: dir + "/outside/secret",
		Payload: dir + "/tools/payload", Token: "token-" + name, Secret: "secret-" + name, Victim: "1", Address: "0"}
	var errs []error
	for _, d := range []string{dir, l.W, l.Evil, l.R, l.RW, l.Tools, dir + "/outside"} {
		errs = append(errs, os.Mkdir(d, 0o755))
	}
	errs = append(errs, copyFile(payload, l.Payload), write(l.S, l.Secret), write(l.Evil+"/s", l.Secret))
	for _, root := range []string{l.W, l.R, l.RW} {
		errs = append(errs, os.MkdirAll(root+"/d/e", 0o755), os.Mkdir(root+"/empty", 0o755))
		for _, f := range []string{"f", "g", "u", "d/f"} {
			errs = append(errs, write(root+"/"+f, "old"))
		}
		errs = append(errs, copyFile("/usr/bin/true", root+"/true"))
	}
	return l, errors.Join(errs...)
}

// words replaces the first element of a path, W, EVIL, R, RW, TOOLS, DIR, and whole words S, PAYLOAD, TOKEN, VICTIM.
func (l *layout) words(s []string) []string {
	out := make([]string, len(s))
	for i, w := range s {
		w = strings.ReplaceAll(strings.ReplaceAll(w, "/proc/VICTIM", "/proc/"+l.Victim), "root/S", "root"+l.S)
		first, rest, cut := strings.Cut(w, "/")
		if cut {
			rest = "/" + rest
		}
		if dir, ok := map[string]string{"W": l.W, "EVIL": l.Evil, "R": l.R, "RW": l.RW, "TOOLS": l.Tools, "DIR": l.Dir, "TOKEN": l.Token, "S": l.S, "PAYLOAD": l.Payload, "VICTIM": l.Victim, "ADDRESS": l.Address}[first]; ok {
			w = dir + rest
		}
		out[i] = w
	}
	return out
}

func (l *layout) path(word string) string { return l.words([]string{word})[0] }

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

func write(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }

// reads returns a file's text, or "" when there is none.
func reads(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// settings is what a case changes of its site's configuration.
type settings struct {
	profile  string // development
	network  string // {access: none}
	more     string // further lines below sandbox, each with its indentation and line end
	entries  string // further entries, in flow style, each with a comma before it
	nested   bool   // a workspace in the read-only mount
	approved bool   // an entry prog, a copy of the payload outside every root
	script   bool   // an entry script, a shell script outside every root that makes a file in the working directory
	// before is done after the layouts were made and before the configuration is applied.
	before    func(real, twin *layout) error
	env       []string // of the server
	elsewhere bool     // the state is on another file system than the workspace
	inherits  string   // a directory that the server inherits an open descriptor of
}

// site is one configuration with its fixtures, state and model.
type site struct {
	program, config string
	dir             string
	away            string // a state elsewhere; "" without
	real, twin      *layout
	model           *model
	env             []string
}

func newSite(ctx context.Context, r *runner, set settings) (s *site, err error) {
	dir, err := os.MkdirTemp(r.dir, "case-")
	if err != nil {
		return nil, err
	}
	s = &site{program: r.program, dir: dir, config: dir + "/config/agent.yaml"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(dir+"/config", 0o755)); err != nil {
		return s, err
	}
	if s.real, err = makeLayout(dir+"/real", r.payload); err != nil {
		return s, err
	}
	if s.twin, err = makeLayout(dir+"/twin", r.payload); err != nil {
		return s, err
	}
	if set.approved {
		for _, l := range []*layout{s.real, s.twin} {
			if err := errors.Join(os.Mkdir(l.Dir+"/approved", 0o755), copyFile(r.payload, l.Dir+"/approved/prog")); err != nil {
				return s, err
			}
		}
		set.entries += fmt.Sprintf(", {alias: prog, path: %q}", s.real.Dir+"/approved/prog")
	}
	if set.script {
		for _, l := range []*layout{s.real, s.twin} {
			if err := errors.Join(os.Mkdir(l.Dir+"/approved", 0o755), write(l.Dir+"/approved/script", "#!/bin/sh\necho good >good\n"), os.Chmod(l.Dir+"/approved/script", 0o755)); err != nil {
				return s, err
			}
		}
		set.entries += fmt.Sprintf(", {alias: script, path: %q}", s.real.Dir+"/approved/script")
	}
	if set.before != nil {
		if err := set.before(s.real, s.twin); err != nil {
			return s, err
		}
	}
	if s.model, err = newModel(); err != nil {
		return s, err
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "XDG_") {
			s.env = append(s.env, v)
		}
	}
	state := dir + "/state"
	if set.elsewhere {
		if state, err = os.MkdirTemp("/dev/shm", "sekisho-attack-"); err != nil {
			return s, err
		}
		s.away = state
	}
	s.env = append(append(s.env, "XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+dir+"/cache"), set.env...)
	if err := write(s.config, s.yaml(r.cgroup, set)); err != nil {
		return s, err
	}
	return s, s.apply(ctx)
}

func (s *site) yaml(cgroup string, set settings) string {
	if set.profile == "" {
		set.profile = "development"
	}
	if set.network == "" {
		set.network = "{access: none}"
	}
	mounts := fmt.Sprintf("{path: %q, access: read_only}", s.real.R)
	if set.profile == "development" {
		mounts += fmt.Sprintf(", {path: %q, access: read_write}", s.real.RW)
	}
	workspaces := fmt.Sprintf("%q", s.real.W)
	if set.nested {
		workspaces += fmt.Sprintf(", %q", s.real.R+"/inner")
	}
	return fmt.Sprintf(`schema_version: 2
ollama: {endpoint: %q, model: "scripted:latest", think: false, options: {num_ctx: 1048576}}
agent: {max_iterations: 1000000, same_failure_limit: 20}
sandbox:
  profile: %s
  workspaces: [%s]
  mounts: [%s]
  execution: {entries: [{alias: payload, path: %q, runtime_root: %q}, {alias: sh, path: /bin/sh}%s]}
  network: %s
  resources: {profile: normal, memory_mb: 512, execution_timeout_seconds: 60, cgroup: %q}
%s`, s.model.URL(), set.profile, workspaces, mounts, s.real.Payload, s.real.Tools, set.entries, set.network, cgroup, set.more)
}

func (s *site) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = s.env, s.dir
	return cmd
}

func (s *site) apply(ctx context.Context) error {
	if out, err := s.command(ctx, s.program, "apply", s.config, "--yes").CombinedOutput(); err != nil {
		return fmt.Errorf("apply: %w: %s", err, out)
	}
	return nil
}

// audit is what the server has written so far.
func (s *site) audit() string { return reads(s.dir + "/state/agent-mcp/logs/audit.jsonl") }

func (s *site) close() error {
	var err error
	if s.model != nil {
		err = s.model.Close()
		if failures := s.model.Failures(); len(failures) > 0 {
			err = errors.Join(err, fmt.Errorf("the model: %s", strings.Join(failures, "; ")))
		}
	}
	// Programs inside may have closed directories.
	exec.Command("chmod", "-R", "u+rwx", s.dir).Run()
	if s.away != "" {
		err = errors.Join(err, os.RemoveAll(s.away))
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
