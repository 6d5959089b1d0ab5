package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sekisho/test/demo/evidence"
	scriptmodel "sekisho/test/fakes/ollama"
	"sekisho/test/mcpclient"
)

//go:embed script
var scripts embed.FS

// play is one run: what the model does, what is asked, and what must come out.
type play struct {
	name    string
	title   string
	script  string // file in script/
	request string // PORT, WORKSPACE and PRIVATE are replaced
	want    evidence.Expectation
	// kill ends the server when the audit shows a running process.
	kill bool
}

// errRefused is a server that does not start: the message is its own explanation.
var errRefused = errors.New("agent-mcp refused to start on this machine")

const pollEvery = 200 * time.Millisecond

// perform runs the play and saves its evidence. The scene is returned even when the run failed, for the judge to see.
func (p play) perform(ctx context.Context, o options, program, goroot string) (s *scene, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	l, err := listen()
	if err != nil {
		return nil, err
	}
	endpoint, model := o.endpoint, o.model
	var fake *scriptmodel.Server
	if endpoint == "" {
		model = "scripted:latest"
		endpoint = "http://127.0.0.1:0" // replaced below
	}
	if s, err = newScene(p.name, program, endpoint, model, goroot, o.cgroup); err != nil {
		l.stop()
		return nil, err
	}
	s.run.Want, s.run.Scripted = p.want, o.endpoint == ""
	request := strings.NewReplacer("PORT", l.port(), "WORKSPACE", s.run.Workspace, "PRIVATE", filepath.Dir(s.run.Secret))
	if s.run.Scripted {
		data, err := scripts.ReadFile("script/" + p.script)
		if err != nil {
			return s, err
		}
		script, err := scriptmodel.Parse([]byte(request.Replace(string(data))))
		if err != nil {
			return s, fmt.Errorf("%s: %w", p.script, err)
		}
		if fake, err = scriptmodel.Listen(script); err != nil {
			return s, err
		}
		defer fake.Close()
		if err := write(s.config, configuration(s, fake.URL(), model, goroot)); err != nil {
			return s, err
		}
	}
	fmt.Printf("\n%s\n", p.title)
	if s.run.Scripted {
		fmt.Println("  model     scripted: its answers are written in advance (cmd/demo/script); only they are, everything else is real")
	} else {
		fmt.Printf("  model     %s at %s\n", model, endpoint)
	}
	fmt.Printf("  stage     %s\n", s.dir)
	if p.want.Network {
		out, err := s.control(filepath.Join(goroot, "bin", "go"), l)
		if err != nil {
			return s, fmt.Errorf("control of the network check: %w: %s", err, out)
		}
		s.run.Control = l.arrived()
		fmt.Printf("  control   outside the sandbox the same program %s\n", strings.TrimSpace(out))
	}
	err = s.serve(ctx, p, request.Replace(p.request))
	s.run.Inside = l.stop()
	if p.want.Network {
		fmt.Printf("  listener  %s from inside the sandbox, %s from outside before\n", count(s.run.Inside, "connection"), count(s.run.Control, "connection"))
	}
	if fake != nil {
		for _, f := range fake.Failures() {
			err = errors.Join(err, fmt.Errorf("the scripted model was asked something unexpected: %s", f))
		}
	}
	return s, errors.Join(err, s.run.Save(s.dir))
}

// serve applies the configuration, starts the server, hands over the job and follows it to its end.
func (s *scene) serve(ctx context.Context, p play, request string) error {
	out, err := s.apply()
	if err != nil {
		return fmt.Errorf("agent-mcp apply: %w\n%s", err, out)
	}
	if !p.want.Network { // the long form is shown once, in the honest run
		out = ""
	}
	fmt.Print(indent(out))
	log, err := os.Create(filepath.Join(s.dir, "server.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c, err := startServer(ctx, s, log)
	if err != nil {
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w:\n%s", errRefused, indent(string(said)))
	}
	fmt.Printf("  server    agent-mcp serves on stdio, process %d\n", c.Cmd.Process.Pid)
	fmt.Printf("  request   %s\n", strings.NewReplacer(s.run.Workspace, "WORKSPACE", filepath.Dir(s.run.Secret), "PRIVATE").Replace(request))
	text, err := c.Tool("agent_run", map[string]any{"request": request})
	if err != nil {
		return errors.Join(err, c.stop())
	}
	f := mcpclient.Fields(text)
	s.run.TaskID, s.run.SessionID = f["task_id"], f["session_id"]
	if s.run.TaskID == "" {
		return errors.Join(fmt.Errorf("agent_run answered %q", text), c.stop())
	}
	n := &narrator{out: os.Stdout, scene: s}
	killed, err := s.follow(ctx, c, n, p)
	if err != nil {
		return errors.Join(err, c.stop())
	}
	if killed {
		c, err = s.restart(ctx, log, n)
		if err != nil {
			return err
		}
	}
	if err := c.stop(); err != nil {
		return fmt.Errorf("the server's end: %w", err)
	}
	fmt.Printf("  status    %s\n", strings.ReplaceAll(strings.TrimSpace(s.run.FinalText), "\n", "\n            "))
	if p.want.Network {
		fmt.Println("  audit     the last lines of audit.jsonl:")
		for _, line := range n.audit[max(0, len(n.audit)-4):] {
			fmt.Printf("            %.220s\n", line)
		}
	}
	return nil
}

// follow polls agent_status and tells the logs until the task is terminal, or until the server was killed.
func (s *scene) follow(ctx context.Context, c *server, n *narrator, p play) (killed bool, err error) {
	t := newTail(s.run.Logs)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		text, err := c.Status(s.run.TaskID)
		if err != nil {
			return false, err
		}
		entries, err := t.next()
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if err := n.tell(e); err != nil {
				return false, err
			}
		}
		if p.kill && n.running {
			fmt.Println("  KILL      the server is killed while the job's program runs")
			c.kill()
			return true, nil
		}
		switch mcpclient.Fields(text)["status"] {
		case "completed", "failed", "cancelled":
			s.run.FinalText = text
			return false, n.rest(t)
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("the task did not end: %w\n%s", ctx.Err(), text)
		case <-tick.C:
		}
	}
}

// restart starts a new server on the same configuration, which recovers what the killed one left, and asks for the task.
func (s *scene) restart(ctx context.Context, log io.Writer, n *narrator) (*server, error) {
	c, err := startServer(ctx, s, log)
	if err != nil {
		return nil, fmt.Errorf("restart after the kill: %w", err)
	}
	var refused *mcpclient.RefusedError // tasks are not kept when the server restarts, and it says so
	if s.run.FinalText, err = c.Status(s.run.TaskID); err != nil && !errors.As(err, &refused) {
		return nil, errors.Join(err, c.stop())
	}
	t := newTail(s.run.Logs)
	n.recoveryOnly = true
	return c, n.rest(t)
}

func indent(s string) string {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return ""
	}
	return "            " + strings.ReplaceAll(s, "\n", "\n            ") + "\n"
}
