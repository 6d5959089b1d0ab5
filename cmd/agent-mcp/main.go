// Command agent-mcp is an MCP server whose work runs inside an operating system sandbox.
package main

import (
	// Sets standard output apart when it is initialized, before main and before most other packages.
	"sekisho/internal/wireout"

	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"sekisho/internal/agent/lifecycle"
	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/host"
)

// version is set when a release is built.
var version = "0.1.0-dev"

const usage = `agent-mcp gives an MCP client a local-model agent to delegate work to. The model's tools run
inside a sandbox of the operating system, within the permissions that you applied.

Usage:
  agent-mcp [CONFIG]                 serve one MCP client on standard input and output,
                                     or this user's clients on HTTP (mcp.transport)
  agent-mcp apply [CONFIG] [--yes]   show what CONFIG changes, ask, and make it the applied one
  agent-mcp show [CONFIG]            print wanted, resolved and applied permissions; change nothing
  agent-mcp --help | --version

CONFIG is a YAML file; without it config/agent.yaml beside the program is used. agent.local.yaml
beside CONFIG is laid over it. A server starts only with a configuration that was applied as it is.

Exit codes: 0 done, 1 failed, 2 wrong usage.
`

func main() {
	if host.Child() {
		return
	}
	code := run(os.Args[1:])
	if err := host.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "agent-mcp:", err)
		code = max(code, lifecycle.ExitFailure)
	}
	os.Exit(code)
}

// run chooses the command. Whether it is the server is decided in one place, wireout.Serves, before main begins.
func run(args []string) int {
	if len(args) == 1 {
		switch args[0] {
		case "--help", "-h":
			fmt.Print(usage)
			return lifecycle.ExitOK
		case "--version":
			fmt.Println("agent-mcp " + version)
			return lifecycle.ExitOK
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process at once; the next start cleans up
	// A client that closes standard error must not kill the server; without a receiver the signal would.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	if wireout.Serves(os.Args) {
		if len(args) == 1 && lifecycle.Mistyped(args[0]) != "" {
			return misused(lifecycle.Mistyped(args[0]))
		}
		options, err := processOptions(args)
		if err != nil {
			return failed(err)
		}
		return lifecycle.Serve(ctx, lifecycle.ServeOptions{Options: options, Wire: wireout.Take})
	}
	return command(ctx, args)
}

// command runs apply or show.
func command(ctx context.Context, args []string) int {
	name, rest := args[0], args[1:]
	yes := false
	if name == "apply" {
		before := len(rest)
		rest = slices.DeleteFunc(slices.Clone(rest), func(a string) bool { return a == "--yes" })
		yes = len(rest) < before
	}
	for _, a := range rest {
		if strings.HasPrefix(a, "-") {
			return misused("unknown option " + a)
		}
	}
	switch {
	case strings.HasPrefix(name, "-"):
		return misused("unknown option " + name)
	case name != "apply" && name != "show" && lifecycle.Mistyped(name) != "":
		return misused(lifecycle.Mistyped(name))
	case name != "apply" && name != "show":
		return misused("too many arguments")
	case len(rest) > 1:
		return misused("more than one configuration file")
	}
	options, err := processOptions(rest)
	if err != nil {
		return failed(err)
	}
	if name == "show" {
		return lifecycle.Show(options, os.Stdout)
	}
	return lifecycle.Apply(ctx, lifecycle.ApplyOptions{Options: options, Stdout: os.Stdout, Yes: yes, Terminal: term.IsTerminal(int(os.Stdin.Fd()))})
}

// stopSignals are those that end the server. What was ignored at the start (nohup, a background job of a script) stays so: a
// server over HTTP may be meant to outlive its terminal.
func stopSignals() []os.Signal {
	return slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
}

func processOptions(args []string) (lifecycle.Options, error) {
	executable, err := os.Executable()
	if err != nil {
		return lifecycle.Options{}, fmt.Errorf("finding this program's own file: %w", err)
	}
	o := lifecycle.Options{Executable: executable, Program: invoked(os.Args[0], executable), Version: version, Env: os.Getenv, Files: fileop.OS(), Stdin: os.Stdin, Stderr: os.Stderr}
	if len(args) > 0 {
		o.Config = args[0]
	}
	return o, nil
}

func misused(what string) int {
	program := "agent-mcp"
	if executable, err := os.Executable(); err == nil {
		program = invoked(os.Args[0], executable)
	}
	fmt.Fprintf(os.Stderr, "agent-mcp: %s\nTry: %s\n", what, lifecycle.HelpCommand(program))
	return lifecycle.ExitUsage
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "agent-mcp:", err)
	return lifecycle.ExitFailure
}
