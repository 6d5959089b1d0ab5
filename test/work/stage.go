//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	scriptmodel "sekisho/test/fakes/ollama"
	"sekisho/test/mcpclient"
	"sekisho/test/product"
)

// stage is a workspace with an applied configuration, the server on it and its scripted model.
type stage struct {
	bin                       product.Bin
	dir, workspace            string
	program, config, registry string
	env                       []string
	model                     *scriptmodel.Server
	server                    *mcpclient.Client
	closers                   []func() error
}

// stageDir is the name of every stage's directory, so that leftovers can be recognized.
const stageDir = "sekisho-work-"

func newStage(ctx context.Context, jobs []job, cgroup string) (*stage, error) {
	s := &stage{}
	var err error
	if s.program, err = s.bin.Build("cmd/agent-mcp"); err != nil {
		return s, err
	}
	if s.dir, err = os.MkdirTemp("/var/tmp", stageDir); err != nil {
		return s, err
	}
	s.workspace, s.config = filepath.Join(s.dir, "project"), filepath.Join(s.dir, "agent.yaml")
	if err := errors.Join(os.Chmod(s.dir, 0o755), os.Mkdir(s.workspace, 0o755)); err != nil {
		return s, err
	}
	registry, err := serveRegistry()
	if err != nil {
		return s, err
	}
	s.registry = registry.url()
	s.closers = append(s.closers, registry.close)
	script, err := json.Marshal(s.script(jobs))
	if err != nil {
		return s, err
	}
	parsed, err := scriptmodel.Parse(script)
	if err != nil {
		return s, err
	}
	if s.model, err = scriptmodel.Listen(parsed); err != nil {
		return s, err
	}
	s.closers = append(s.closers, s.model.Close)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "XDG_") {
			s.env = append(s.env, v)
		}
	}
	s.env = append(s.env, "XDG_STATE_HOME="+s.dir+"/state", "XDG_CACHE_HOME="+s.dir+"/cache")
	network := "{access: none}" // unless a job needs the registry
	if slices.ContainsFunc(jobs, func(j job) bool { return j.registry }) {
		network = fmt.Sprintf("{access: local, local_endpoints: [%d]}", registry.port())
	}
	if err := s.apply(ctx, network, cgroup); err != nil {
		return s, err
	}
	for _, j := range jobs {
		if j.prepare == nil {
			continue
		}
		if err := errors.Join(os.MkdirAll(s.place(j), 0o755), j.prepare(s.place(j))); err != nil {
			return s, fmt.Errorf("preparing %s: %w", j.name, err)
		}
	}
	server := exec.CommandContext(ctx, s.program, s.config)
	server.Env, server.Dir = s.env, s.dir
	if s.server, err = mcpclient.Connect(server, "work"); err != nil {
		err = fmt.Errorf("agent-mcp did not start: %w", err)
	}
	return s, err
}

func (s *stage) place(j job) string {
	if j.dir != "" {
		return filepath.Join(s.workspace, j.dir)
	}
	return filepath.Join(s.workspace, j.name)
}

// apply writes and applies the configuration.
func (s *stage) apply(ctx context.Context, network, cgroup string) error {
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	root := strings.TrimSpace(string(goroot))
	yaml := fmt.Sprintf(`schema_version: 2
ollama: {endpoint: %q, model: "scripted:latest", think: false}
sandbox:
  profile: development
  workspaces: [project]
  execution:
    entries:
      - {alias: go, path: %q, runtime_root: %q}
      - {alias: git, path: /usr/bin/git, environment: {GIT_AUTHOR_NAME: A Person, GIT_AUTHOR_EMAIL: a@example.org, GIT_COMMITTER_NAME: A Person, GIT_COMMITTER_EMAIL: a@example.org}}
`, s.model.URL(), filepath.Join(root, "bin", "go"), root)
	for _, path := range []string{"/usr/bin/python3", "/usr/bin/pytest", "/usr/bin/pip", "/usr/bin/node", "/usr/bin/npm", "/usr/bin/npx", "/usr/bin/make", "/usr/bin/gcc", "/bin/sh"} {
		yaml += fmt.Sprintf("      - {alias: %s, path: %s}\n", filepath.Base(path), path)
	}
	yaml += fmt.Sprintf(`  environment: {PATH: %q, GOFLAGS: "-mod=mod -buildvcs=false", GOPROXY: "off", GOTOOLCHAIN: local, npm_config_registry: %q}
  network: %s
  resources: {profile: extended, cgroup: %q}
`, filepath.Join(root, "bin")+":/usr/local/bin:/usr/bin:/bin", s.registry, network, cgroup)
	if err := os.WriteFile(s.config, []byte(yaml), 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, s.program, "apply", s.config, "--yes")
	cmd.Env = s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("agent-mcp apply: %w\n%s", err, out)
	}
	return nil
}

// script is the model: a plan of one task for each job, then its programs one after another.
func (s *stage) script(jobs []job) map[string]any {
	var rules []map[string]any
	for _, j := range jobs {
		asked := "Do the job " + j.name + "."
		task := map[string]any{"id": "t1", "description": "Run the programs", "depends_on": []string{}, "budget_class": "8K", "optimistic_tokens": 500,
			"most_likely_tokens": 2000, "pessimistic_tokens": 6000, "requires_external_effect": true, "required_tools": []string{"process_run"}}
		rules = append(rules, map[string]any{"name": j.name + ": plan", "when": map[string]any{"phase": "plan", "user_contains": asked},
			"reply": map[string]any{"content": map[string]any{"tasks": []any{task}}}})
		for i, st := range j.steps {
			arguments := map[string]any{"executable": st.program, "args": append([]string{}, st.args...), "cwd": s.place(j), "stdin": nil, "timeout_seconds": 600}
			if st.stdin != "" {
				arguments["stdin"] = st.stdin
			}
			rules = append(rules, map[string]any{"name": fmt.Sprint(j.name, ": ", i), "when": map[string]any{"phase": "run", "user_contains": asked}, "once": true,
				"reply": map[string]any{"tool_calls": []any{map[string]any{"name": "process_run", "arguments": arguments}}}})
		}
		rules = append(rules, map[string]any{"name": j.name + ": answer", "when": map[string]any{"phase": "run", "user_contains": asked},
			"reply": map[string]any{"content": "That is what the programs did."}})
	}
	return map[string]any{"model": "scripted:latest", "capabilities": []string{"completion", "tools"}, "context_length": 131072, "rules": rules}
}

// result is what the model was told of one program.
type result struct {
	OK        bool   `json:"ok"`
	ExitCode  int    `json:"exit_code"`
	ElapsedMS int64  `json:"elapsed_ms"`
	ErrorCode string `json:"error_code"`
	output    string
}

// do gives one job to the server, follows it to its end and judges it.
func (s *stage) do(ctx context.Context, j job) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	text, err := s.server.Tool("agent_run", map[string]any{"request": "Do the job " + j.name + "."})
	if err != nil {
		return "", err
	}
	task, asked := mcpclient.Fields(text)["task_id"], s.server.LastID()
	if task == "" {
		return "", fmt.Errorf("agent_run answered %q", text)
	}
	for status := ""; status != "completed" && status != "failed" && status != "cancelled"; status = mcpclient.Fields(text)["status"] {
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%w\n%s", ctx.Err(), text)
		case <-time.After(50 * time.Millisecond):
		}
		if j.cancel != "" {
			if _, err := os.Stat(filepath.Join(s.place(j), j.cancel)); err == nil {
				j.cancel = ""
				if err := s.server.Notify("notifications/cancelled", map[string]any{"requestId": asked}); err != nil {
					return "", err
				}
			}
		}
		if text, err = s.server.Tool("agent_status", map[string]any{"task_id": task}); err != nil {
			return "", err
		}
	}
	results, err := s.results(j)
	if err != nil {
		return "", err
	}
	for i, st := range j.steps[:min(len(results), len(j.steps))] {
		r := results[i]
		if failed := st.fails != ""; r.OK == failed || failed && !strings.Contains(r.output, st.fails) {
			return "", fmt.Errorf("%s %s: exit code %d %s\n%s\n%s", st.program, strings.Join(st.args, " "), r.ExitCode, r.ErrorCode, clip(r.output), text)
		}
	}
	said, err := j.judge(s.place(j), results)
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return said, nil
}

// results reads what the model was told from its own requests: the messages of role tool in the last one of the job.
func (s *stage) results(j job) ([]result, error) {
	var out []result
	for _, r := range s.model.Received() {
		if !bytes.Contains(r.Body, []byte("Do the job "+j.name+".")) {
			continue
		}
		var request struct {
			Messages []struct{ Role, Content string }
		}
		if json.Unmarshal(r.Body, &request) != nil {
			continue
		}
		var told []result
		for _, m := range request.Messages {
			if m.Role != "tool" {
				continue
			}
			header, body, _ := strings.Cut(m.Content, "\n")
			one := result{output: body}
			if err := json.Unmarshal([]byte(header), &one); err != nil {
				return nil, fmt.Errorf("the model was told %q", m.Content)
			}
			told = append(told, one)
		}
		if len(told) >= len(out) {
			out = told
		}
	}
	return out, nil
}

func clip(text string) string {
	if len(text) > 6000 {
		return text[:3000] + "\n...\n" + text[len(text)-3000:]
	}
	return text
}

// close ends server and model and removes the stage.
func (s *stage) close(keep bool) error {
	var errs []error
	if s.server != nil {
		errs = append(errs, s.server.Close())
	}
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	errs = append(errs, s.bin.Close())
	if keep {
		fmt.Println("kept:", s.dir)
	} else if s.dir != "" {
		errs = append(errs, exec.Command("chmod", "-R", "u+rwx", s.dir).Run(), os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
