//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	shipped "sekisho/config"
	"sekisho/internal/agent"
	"sekisho/internal/agent/filetx"
	"sekisho/internal/agent/tool"
	"sekisho/internal/audit"
	"sekisho/internal/fileop"
	"sekisho/internal/locale"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/host"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/sandbox/resolve"
	"sekisho/internal/sandbox/rootio"
	"sekisho/test/product"
)

// secret is what every file outside the workspace holds, ran what a program outside prints.
const (
	secret = "TOP-SECRET-9b1e77"
	ran    = "uid="
)

// world is a workspace w with the names that are swapped, and out, where the links lead.
type world struct {
	dir, w, out string
	policy      sandbox.EffectivePolicy
	backend     sandbox.Backend
	undos       []sandbox.Undo
	job         sandbox.Job
	roots       *rootio.Set
	tools       *tool.Dispatcher
	closers     []func() error
}

// layout makes the files of a workspace and of the place outside.
func layout(dir string) error {
	var errs []error
	for _, d := range []string{dir, dir + "/w", dir + "/w/d", dir + "/w/c", dir + "/out", dir + "/temp", dir + "/home", dir + "/records", dir + "/backup"} {
		errs = append(errs, os.MkdirAll(d, 0o755), os.Chmod(d, 0o755))
	}
	for name, text := range map[string]string{"/w/d/s": "harmless\n", "/w/f": "harmless\n", "/out/s": secret + "\n"} {
		errs = append(errs, os.WriteFile(dir+name, []byte(text), 0o644))
	}
	for from, to := range map[string]string{"/usr/bin/true": "/w/d/prog", "/usr/bin/id": "/out/prog"} {
		b, err := os.ReadFile(from)
		errs = append(errs, err, os.WriteFile(dir+to, b, 0o755))
	}
	errs = append(errs, os.Symlink(dir+"/out", dir+"/w/e"), os.Symlink("../out/s", dir+"/w/g"))
	return errors.Join(errs...)
}

// swappers swaps a directory with a link to a directory, in another process a file with a link to a file.
func swappers(dir string) ([]*swapper, error) {
	a, err := startSwapper(dir+"/w/d", dir+"/w/e")
	if err != nil {
		return nil, err
	}
	b, err := startSwapper(dir+"/w/f", dir+"/w/g")
	return []*swapper{a, b}, err
}

func stopAll(all []*swapper) (int, error) {
	total := 0
	var errs []error
	for _, s := range all {
		n, err := s.stop()
		total += n
		errs = append(errs, err)
	}
	return total, errors.Join(errs...)
}

// open builds the sandbox and the tools over the workspace.
func open(ctx context.Context, bin *product.Bin, dir string) (_ *world, err error) {
	v := &world{dir: dir, w: dir + "/w", out: dir + "/out"}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.close())
		}
	}()
	if err := layout(dir); err != nil {
		return nil, err
	}
	if err := v.declare(); err != nil {
		return nil, err
	}
	program, err := bin.Build("cmd/agent-mcp")
	if err != nil {
		return nil, err
	}
	if v.backend, err = host.Open(host.Options{Program: program, Files: fileop.OS()}); err != nil {
		return nil, err
	}
	steps, err := v.backend.Plan(v.policy)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		u, err := v.backend.Observe(ctx, s)
		if err != nil {
			return nil, err
		}
		v.undos = append(v.undos, u)
		if err := v.backend.Apply(ctx, s, u); err != nil {
			return nil, err
		}
	}
	if v.job, err = v.backend.Open(ctx, v.policy, v.undos); err != nil {
		return nil, err
	}
	if v.roots, err = rootio.NewSet(fileop.OS(), v.policy.Roots, nil); err != nil {
		return nil, err
	}
	v.closers = append(v.closers, v.roots.Close)
	return v, v.dispatcher()
}

func (v *world) declare() error {
	w, err := resolve.Root(v.w)
	if err != nil {
		return err
	}
	sh, err := resolve.Executable("/bin/sh")
	if err != nil {
		return err
	}
	runtime, err := resolve.OSRuntime()
	if err != nil {
		return err
	}
	d := policy.SandboxPolicy{Profile: policy.ProfileDevelopment, Resources: policy.Resources{Profile: "normal", Cgroup: policy.CgroupAuto},
		Workspaces: []policy.Directory{{Path: w.Path, ID: w.ID, Filesystem: w.Filesystem}},
		Entries:    []policy.Entry{{Alias: "sh", Path: sh.Path, ID: sh.ID, SHA256: sh.SHA256, Filesystem: sh.Filesystem}}}
	d.Network.Access = sandbox.NetworkNone
	for _, r := range runtime {
		d.OSRuntime = append(d.OSRuntime, policy.Directory{Path: r.Path, ID: r.ID, Filesystem: r.Filesystem})
	}
	if v.policy, err = policy.Compile(d); err != nil {
		return err
	}
	v.policy.Task = sandbox.TaskBinding{Instance: fmt.Sprintf("race-%d", os.Getpid()), Task: "task", Temp: v.dir + "/temp", Home: v.dir + "/home"}
	return nil
}

func (v *world) dispatcher() error {
	records, err := os.Open(v.dir + "/records")
	if err != nil {
		return err
	}
	backup, err := os.Open(v.dir + "/backup")
	if err != nil {
		return err
	}
	v.closers = append(v.closers, records.Close, backup.Close)
	texts, err := locale.Parse(shipped.English())
	if err != nil {
		return err
	}
	files := filetx.New(filetx.Deps{FS: fileop.OS(), Records: records, Temp: backup, Audit: silent{}, MemoryLimit: 1 << 20})
	v.tools = tool.New(tool.Deps{Policy: &v.policy, Roots: v.roots, Files: files, Audit: silent{}, Texts: locale.New("en", texts, texts)})
	return nil
}

// silent is an audit that nobody reads.
type silent struct{}

func (silent) Write(audit.Event) error { return nil }

func (v *world) call(ctx context.Context, name string, args map[string]any) (agent.ToolResult, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return agent.ToolResult{}, err
	}
	return v.tools.Call(ctx, tool.Scope{Session: "s", Task: "t", PlannerTask: "p",
		Required: []string{agent.ToolFileEdit, agent.ToolProcessRun, agent.ToolDir},
		Job:      func(context.Context) (sandbox.Job, error) { return v.job, nil },
	}, agent.ToolCall{ID: "c", Name: name, Arguments: raw}), nil
}

// renew makes the link of the file again after a tool has replaced it: then both names are files, and nothing is raced for.
func (v *world) renew() error {
	for _, name := range []string{"/f", "/g"} {
		if _, err := os.Readlink(v.w + name); err == nil {
			return nil
		}
	}
	made := v.w + "/made-link"
	if err := os.Symlink("../out/s", made); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(made, v.w+"/g")
}

// changed lists what is outside other than layout left it.
func changed(out string) []string {
	var found []string
	err := filepath.WalkDir(out, func(p string, e fs.DirEntry, err error) error {
		switch name := e.Name(); {
		case err != nil:
			return err
		case p == out, name == "prog":
		case name == "s":
			if b, err := os.ReadFile(p); err != nil || string(b) != secret+"\n" {
				found = append(found, p)
			}
		default:
			found = append(found, p)
		}
		return nil
	})
	if err != nil {
		found = append(found, err.Error())
	}
	return found
}

func (v *world) close() error {
	ctx := context.Background()
	var errs []error
	if v.job != nil {
		errs = append(errs, v.job.Close(ctx))
	}
	for _, u := range slices.Backward(v.undos) {
		errs = append(errs, v.backend.Revert(ctx, u))
	}
	for _, c := range slices.Backward(v.closers) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}
