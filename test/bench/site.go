//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sekisho/internal/agent/config"
	scriptmodel "sekisho/test/fakes/ollama"
)

// site is an applied configuration with its workspace, its scripted model and its own state root.
type site struct {
	b         *bench
	program   string
	dir       string
	workspace string
	config    string
	entries   []string
	model     *scriptmodel.Server
}

// newSite applies a configuration that approves the given programs, of a model that follows script; WORKSPACE is replaced
// in it. close ends the model.
func (b *bench) newSite(script string, entries ...string) (*site, error) {
	return b.newSiteWith("", script, entries...)
}

// newSiteWith has further lines of YAML.
func (b *bench) newSiteWith(more, script string, entries ...string) (*site, error) {
	dir, err := os.MkdirTemp(b.dir, "site-")
	if err != nil {
		return nil, err
	}
	s := &site{b: b, dir: dir, workspace: filepath.Join(dir, "project"), config: filepath.Join(dir, "agent.yaml"), entries: entries}
	if s.program, err = b.bin.Build("cmd/agent-mcp"); err != nil {
		return nil, err
	}
	for path, mode := range map[string]os.FileMode{dir: 0o755, s.workspace: 0o755} {
		os.MkdirAll(path, mode)
		if err := os.Chmod(path, mode); err != nil {
			return nil, err
		}
	}
	parsed, err := scriptmodel.Parse([]byte(strings.ReplaceAll(script, "WORKSPACE", s.workspace)))
	if err != nil {
		return nil, err
	}
	if s.model, err = scriptmodel.Listen(parsed); err != nil {
		return nil, err
	}
	yaml := fmt.Sprintf("schema_version: 2\n"+more+"ollama: {endpoint: %q, model: \"scripted:latest\", think: false}\nsandbox:\n  workspaces: [project]\n  execution:\n    entries:\n", s.model.URL())
	for _, e := range entries {
		yaml += fmt.Sprintf("      - {alias: %q, path: %q}\n", filepath.Base(e), e)
	}
	if err := os.WriteFile(s.config, []byte(yaml), 0o644); err != nil {
		s.close()
		return nil, err
	}
	apply := exec.CommandContext(b.ctx, s.program, "apply", s.config, "--yes")
	apply.Env = append(os.Environ(), s.env()...)
	if out, err := apply.CombinedOutput(); err != nil {
		s.close()
		return nil, fmt.Errorf("apply: %w\n%s", err, out)
	}
	return s, nil
}

func (s *site) env() []string {
	return []string{"XDG_STATE_HOME=" + filepath.Join(s.dir, "state"), "XDG_CACHE_HOME=" + filepath.Join(s.dir, "cache")}
}

func (s *site) close() error { return s.model.Close() }

func (s *site) start() (*client, error) { return s.b.startClient(s.env(), s.program, s.config) }

// resolved reads the configuration as the server does.
func (s *site) resolved() (*config.Loaded, *config.Resolved, error) {
	places, err := config.Locate(s.config, s.program, filepath.Join(s.dir, "state", "agent-mcp"))
	if err != nil {
		return nil, nil, err
	}
	loaded, problems := config.Load(places)
	if err := problems.Err(); err != nil {
		return nil, nil, err
	}
	resolved, problems := config.Resolve(loaded)
	return loaded, resolved, problems.Err()
}

// idle is a script whose model is never asked.
const idle = "model: scripted:latest\ncapabilities: [completion, tools]\nrules: [{name: never, reply: {content: nothing}}]\n"
