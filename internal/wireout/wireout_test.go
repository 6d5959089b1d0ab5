//go:build linux

package wireout_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"sekisho/internal/wireout"
)

const role = "WIREOUT_ROLE"

// This init stands for a package whose initialization prints.
func init() {
	if os.Getenv(role) != "" {
		os.Stdout.WriteString("printed by a package\n")
	}
}

// TestMain lets the test binary, started without arguments, be the server.
func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	wire, err := wireout.Take()
	if err != nil {
		os.Stderr.WriteString("take: " + err.Error() + "\n")
		os.Exit(3)
	}
	if _, err := wireout.Take(); err == nil {
		os.Exit(4)
	}
	if wire.Fd() < 10 {
		os.Exit(5)
	}
	wire.WriteString("message\n")
	child := exec.Command("sh", "-c", "echo printed by a child; for fd in /proc/self/fd/*; do readlink $fd; done; true")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if child.Run() != nil {
		os.Exit(6)
	}
	syscall.Write(1, []byte("printed to descriptor 1\n"))
	done := make(chan struct{})
	go func() {
		println("printed by print")
		panic("printed by a panic")
	}()
	<-done
}

func run(t *testing.T, prepare func(*exec.Cmd)) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), role+"=server")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if prepare != nil {
		prepare(cmd)
	}
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// proves A-MCP-04
func TestStdoutCarriesOnlyWhatTheTransportWrites(t *testing.T) {
	stdout, stderr, _ := run(t, nil)
	if stdout != "message\n" {
		t.Errorf("stdout = %q, want the transport's message and nothing else", stdout)
	}
	for _, want := range []string{"printed by a package", "printed by a child", "printed to descriptor 1", "printed by print", "printed by a panic"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr)
		}
	}
}

// proves A-MCP-04
func TestOtherRolesKeepTheirStdout(t *testing.T) {
	stdout, stderr, _ := run(t, func(c *exec.Cmd) { c.Args = append(c.Args, "--version") })
	if !strings.Contains(stdout, "printed by a package") || !strings.Contains(stderr, "not the server") {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	for args, want := range map[string]bool{"": true, "agent.yaml": true, "apply": false, "show": false, "--help": false, "-x": false, "apply agent.yaml": false, "a b c": false} {
		if got := wireout.Serves(append([]string{"agent-mcp"}, strings.Fields(args)...)); got != want {
			t.Errorf("Serves(%q) = %v, want %v", args, got, want)
		}
	}
}

// proves A-MCP-04
func TestWithoutStderrStdoutIsStillSetApart(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `exec "$0" 2>&-`, exe)
	cmd.Env = append(os.Environ(), role+"=server")
	out, _ := cmd.Output()
	if got := string(out); got != "message\n" {
		t.Errorf("stdout = %q", got)
	}
}
