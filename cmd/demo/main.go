// Command demo is the newcomer's run of agent-mcp: it sets a stage in a temporary directory, starts the real server with the
// real sandbox, plays an MCP client, tells live what happens, and leaves evidence for the judge (test/demo).
//
// With -negative it plays lying models instead, each of which must end failed. Without -ollama the model is scripted, and the
// output says so; nothing else differs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// options are the command line.
type options struct {
	program  string
	endpoint string
	model    string
	evidence string
	cgroup   string
	negative bool
}

func main() {
	var o options
	flag.StringVar(&o.program, "program", "bin/agent-mcp", "the agent-mcp binary")
	flag.StringVar(&o.endpoint, "ollama", "", "URL of a real Ollama (default: a scripted model)")
	flag.StringVar(&o.model, "model", "", "model name, with -ollama")
	flag.StringVar(&o.evidence, "evidence", "", "file that receives the evidence directories, one a line (required)")
	flag.StringVar(&o.cgroup, "cgroup", "", "control group directory of this user (default: found by the server)")
	flag.BoolVar(&o.negative, "negative", false, "run the lying models")
	flag.Parse()
	if flag.NArg() > 0 || o.evidence == "" || (o.endpoint == "") != (o.model == "") || o.negative && o.endpoint != "" {
		fmt.Fprintln(os.Stderr, "demo: -evidence is required; -ollama and -model go together and not with -negative")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	program, err := filepath.Abs(o.program)
	if err != nil {
		return err
	}
	goroot, err := goRoot()
	if err != nil {
		return err
	}
	plays := []play{honest}
	if o.negative {
		plays = lies
	}
	var dirs []string
	var failures []error
	for _, p := range plays {
		s, err := p.perform(ctx, o, program, goroot)
		if s != nil {
			dirs = append(dirs, s.dir)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", p.name, err))
		}
		if errors.Is(err, errRefused) {
			break // the machine, not the play: every other one would end the same way
		}
	}
	if err := os.WriteFile(o.evidence, []byte(strings.Join(dirs, "\n")+"\n"), 0o600); err != nil {
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// goRoot finds the toolchain that the job gets as its approved program.
func goRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("finding the Go toolchain: %w", err)
	}
	return filepath.EvalSymlinks(strings.TrimSpace(string(out)))
}
