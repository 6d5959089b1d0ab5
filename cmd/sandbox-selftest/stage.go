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
	"time"

	shipped "sekisho/config"
	"sekisho/internal/sandbox/matrix"
	scriptmodel "sekisho/test/fakes/ollama"
)

// stage makes the rows about the program around the sandbox: they drive the product binary.
type stage struct {
	dir, program, crashing, payload, cgroup string
}

func (s *stage) rows() []matrix.Case {
	return []matrix.Case{
		{ID: "ST-15", Title: "policy change through MCP", Expected: "impossible by schema and function", Judge: s.with(policyByMCP)},
		{ID: "ST-16", Title: "a model's tool call whose resolved path leaves the roots", Expected: "refused", Judge: s.with(leavingCall)},
		{ID: "ST-17", Title: "crash after filesystem grants", Expected: "cleaned at the next start", Judge: s.with(crashes)},
		{ID: "ST-18", Title: "crash after network rules", Expected: "cleaned at the next start", Judge: s.with(crashWithNetwork)},
		{ID: "ST-21", Title: "malformed locale", Expected: "start fails", Judge: s.with(locales)},
		{ID: "ST-22", Title: "non-loopback HTTP bind", Expected: "start fails", Judge: s.with(bind)},
		{ID: "ST-23", Title: "Applied Configuration Store", Expected: "0600 in 0700, replaced whole, a corrupt record is refused", Judge: s.with(store)},
		{ID: "ST-24", Title: "configuration, resolved path or hash changed", Expected: "refused until applied again as a whole", Judge: s.with(changedApproval)},
		{ID: "AC-59", Title: "endpoint that is the model server's, this server's own or a relaycodex's", Expected: "refused at start", Judge: s.with(forbiddenEndpoints)},
	}
}

// scene is one configuration with its workspace, model and state root, made anew for each site of a row.
type scene struct {
	*stage
	ctx context.Context
	*matrix.Report
	closers []func()
}

// with gives a row its scene and clears it away.
func (s *stage) with(play func(sc *scene)) func(context.Context, matrix.Env, *matrix.Report) {
	return func(ctx context.Context, _ matrix.Env, r *matrix.Report) {
		sc := &scene{stage: s, ctx: ctx, Report: r}
		defer func() {
			for i := len(sc.closers) - 1; i >= 0; i-- {
				sc.closers[i]()
			}
		}()
		play(sc)
	}
}

// site is one directory with everything that a server of its own needs.
type site struct {
	sc                                       *scene
	dir, workspace, outside, config, locales string
	model                                    *scriptmodel.Server
}

// answering is the script of a model that plans one task with file_read, file_edit and process_run and then makes the given
// calls, one a turn. WORKSPACE stands for the workspace.
func answering(calls ...string) string {
	var b strings.Builder
	b.WriteString(`model: scripted:latest
capabilities: [completion, tools]
context_length: 32768
rules:
  - name: plan
    when: {phase: plan}
    reply:
      content:
        tasks:
          - {id: all, description: "Do it", depends_on: [], budget_class: 4K, optimistic_tokens: 100, most_likely_tokens: 200, pessimistic_tokens: 900, requires_external_effect: true, required_tools: [file_read, file_edit, process_run]}
`)
	for i, c := range calls {
		fmt.Fprintf(&b, "  - {name: call %d, when: {phase: run}, once: true, reply: {tool_calls: [%s]}}\n", i, c)
	}
	b.WriteString("  - {name: end, when: {phase: run}, reply: {content: \"Done.\"}}\notherwise: fail\n")
	return b.String()
}

// newSite makes a site. The configuration is not applied yet.
func (sc *scene) newSite(script string) (*site, error) {
	dir, err := os.MkdirTemp(sc.dir, "site-")
	if err != nil {
		return nil, err
	}
	sc.closers = append(sc.closers, func() { os.RemoveAll(dir) })
	s := &site{sc: sc, dir: dir, workspace: dir + "/workspace", outside: dir + "/outside", config: dir + "/config/agent.yaml", locales: dir + "/locales"}
	parsed, err := scriptmodel.Parse([]byte(strings.ReplaceAll(script, "WORKSPACE", s.workspace)))
	if err != nil {
		return nil, err
	}
	if s.model, err = scriptmodel.Listen(parsed); err != nil {
		return nil, err
	}
	sc.closers = append(sc.closers, func() { s.model.Close() })
	if err := os.CopyFS(s.locales, shipped.Locales()); err != nil {
		return nil, err
	}
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		return nil, err
	}
	return s, errors.Join(os.Chmod(dir, 0o755), write(s.workspace+"/file", "old"), write(s.outside+"/secret", "secret-"+filepath.Base(dir)),
		write(s.dir+"/bin/mysh", string(shell)), os.Chmod(s.dir+"/bin/mysh", 0o755), os.Symlink("mysh", s.dir+"/bin/sh"), write(s.config, s.yaml("")))
}

// yaml is the configuration with more lines at its end.
func (s *site) yaml(more string) string {
	return fmt.Sprintf(`schema_version: 2
ollama: {endpoint: %q, model: "scripted:latest", think: false}
sandbox:
  profile: development
  workspaces: [%q]
  execution: {entries: [{alias: tool, path: %q}]}
  resources: {cgroup: %q}
localization: {directory: %q}
`, s.model.URL(), s.workspace, s.dir+"/bin/sh", s.sc.cgroup, s.locales) + more
}

func write(path, text string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
}

func (s *site) command(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.sc.ctx, program, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+s.dir+"/state", "XDG_CACHE_HOME="+s.dir+"/cache", "CRASH_TRACE="+s.dir+"/trace")
	cmd.Dir = s.dir
	return cmd
}

// apply makes the configuration the applied one.
func (s *site) apply() error {
	out, err := s.command(s.sc.program, "apply", s.config, "--yes").CombinedOutput()
	if err != nil {
		return fmt.Errorf("apply: %w: %s", err, out)
	}
	return nil
}

// applied makes a site whose configuration is applied; a failure blocks the row.
func (sc *scene) applied(script string) *site {
	s, err := sc.newSite(script)
	if err == nil {
		err = s.apply()
	}
	if err != nil {
		sc.Block("fixture", "%v", err)
		return nil
	}
	return s
}

// record is the file of the Applied Configuration Store.
func (s *site) record() string {
	found, _ := filepath.Glob(s.dir + "/state/agent-mcp/applied-configurations/*.json")
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

func (s *site) read(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// starts tells whether a server starts on the site as it is, and what it said when not.
func (s *site) starts() (bool, string) {
	c, err := s.serve(s.sc.program, 0)
	end := c.Close()
	return err == nil && end == nil, c.log()
}

// refusedWith requires that a server does not start and names the code.
func (s *site) refusedWith(what, code string) {
	ok, log := s.starts()
	s.sc.Check(what, !ok && strings.Contains(log, code), "started: %v; it said: %.400s", ok, log)
}

// must requires that a server starts: the control of every refusal to start.
func (s *site) must(what string) {
	if ok, log := s.starts(); !ok {
		s.sc.Block(what, "the control does not start: %.400s", log)
	}
}

// await polls what another process does.
func (s *site) await(d time.Duration, done func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(d); !done(); {
		select {
		case <-tick.C:
		case <-end:
			return done()
		case <-s.sc.ctx.Done():
			return false
		}
	}
	return true
}
