//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sekisho/internal/sandbox"
)

// rival is another program's sandbox.
type rival struct {
	name string
	// in returns how a command runs in it; an error is why it cannot be measured here.
	in func(workspace string) (func(argv ...string) act, error)
}

// rivals compares with programs from npm that run a command in a sandbox: each start of theirs makes one.
func (b *bench) rivals() error {
	workspace, t, c, err := b.smallest()
	if err != nil {
		return err
	}
	columns := false
	for _, r := range []rival{{"codex " + codexVersion, b.codex}, {"sandbox-runtime " + runtimeVersion, b.sandboxRuntime}} {
		in, err := r.in(workspace)
		if err == nil {
			err = b.equal(workspace, in)
		}
		if err != nil {
			notRun(r.name, err.Error())
			continue
		}
		if !columns {
			b.columns()
			columns = true
		}
		if err := b.against(r.name, t, c, in(smallest)); err != nil {
			return err
		}
	}
	return nil
}

// equal proves that a rival does the same job: the workspace can be written, and nothing beside it.
func (b *bench) equal(workspace string, in func(...string) act) error {
	inside, outside := filepath.Join(workspace, "written"), filepath.Join(b.dir, "written")
	if err := in("/usr/bin/touch", inside)(); err != nil {
		return err
	}
	if err := os.Remove(inside); err != nil {
		return fmt.Errorf("it wrote no file: %w", err)
	}
	if in("/usr/bin/touch", outside)() == nil {
		return errors.New("it writes beside the workspace")
	}
	return nil
}

func (b *bench) against(name string, t *task, c sandbox.Command, theirs act) error {
	s, err := b.interleave(b.pairs(21), t.cold(c), theirs)
	if err != nil {
		return err
	}
	s.row("cold : "+name, goal{})
	if err := t.open(); err != nil {
		return errors.Join(err, t.close())
	}
	s, err = b.interleave(b.pairs(21), t.warm(c), theirs)
	if err = errors.Join(err, t.close()); err != nil {
		return err
	}
	s.row("warm : "+name, goal{})
	return nil
}

const (
	codexVersion   = "0.159.1"
	runtimeVersion = "0.0.78"
)

// codex is the sandbox of the codex CLI, with a configuration of its own that knows nobody.
func (b *bench) codex(workspace string) (func(...string) act, error) {
	path, err := b.script("scripts/codex", codexVersion)
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp(b.dir, "codex-")
	if err != nil {
		return nil, err
	}
	return func(argv ...string) act {
		return b.quietly(workspace, []string{"CODEX_HOME=" + home}, append([]string{path, "sandbox", "-c", `sandbox_mode="workspace-write"`, "--"}, argv...)...)
	}, nil
}

// sandboxRuntime is srt, which needs bubblewrap, socat and ripgrep, and node of its own.
func (b *bench) sandboxRuntime(workspace string) (func(...string) act, error) {
	for _, program := range []string{"bwrap", "socat", "rg"} {
		if _, err := b.installed(program); err != nil {
			return nil, err
		}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("node is not installed")
	}
	home, err := b.script("scripts/npm-tools", "test/bench/npm")
	if err != nil {
		return nil, err
	}
	settings := filepath.Join(b.dir, "srt.json")
	text := fmt.Sprintf(`{"network":{"allowedDomains":[],"deniedDomains":[]},"filesystem":{"denyRead":[],"allowWrite":[%q],"denyWrite":[]}}`, workspace)
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		return nil, err
	}
	srt := filepath.Join(home, "node_modules", "@anthropic-ai", "sandbox-runtime", "dist", "cli.js")
	return func(argv ...string) act {
		return b.quietly(workspace, nil, append([]string{node, srt, "--settings", settings}, argv...)...)
	}, nil
}

// script runs one of the module's scripts, which prints where something is installed.
func (b *bench) script(argv ...string) (string, error) {
	cmd := exec.CommandContext(b.ctx, argv[0], argv[1:]...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return "", fmt.Errorf("%s: %s", strings.Join(argv, " "), lines[len(lines)-1])
	}
	return strings.TrimSpace(string(out)), nil
}

// quietly returns the act of running a command whose output is read only when it fails.
func (b *bench) quietly(dir string, env []string, argv ...string) act {
	return func() error {
		cmd := exec.CommandContext(b.ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", filepath.Base(argv[0]), err, strings.TrimSpace(string(said)))
		}
		return nil
	}
}
