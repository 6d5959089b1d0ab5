package agentsite

import (
	"os"
	"os/exec"
	"testing"

	"sekisho/test/product"
)

// Tested is a site of a test: what fails fails the test, and nothing outlives it.
type Tested struct {
	*Site
	T testing.TB
}

// ForTest makes a site; o needs neither a program nor a directory.
func ForTest(t testing.TB, bin *product.Bin, o Options) *Tested {
	t.Helper()
	program, err := bin.Build("cmd/agent-mcp")
	if err != nil {
		t.Fatal(err)
	}
	o.Program, o.Dir = program, product.Dir(t)
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Model.Close() })
	return &Tested{s, t}
}

// Reconfigure writes another configuration and applies it.
func (s *Tested) Reconfigure(yaml string) {
	s.T.Helper()
	if err := s.Configure(yaml); err != nil {
		s.T.Fatal(err)
	}
	s.MustApply()
}

// MustApply makes the configuration the applied one.
func (s *Tested) MustApply() {
	s.T.Helper()
	if err := s.Apply(); err != nil {
		s.T.Fatal(err)
	}
}

// Held lists what running and crashed servers hold.
func (s *Tested) Held() []string {
	s.T.Helper()
	names, err := s.Instances()
	if err != nil {
		s.T.Fatal(err)
	}
	return names
}

// Running is a server of a test, killed at its end.
type Running struct {
	*Server
	T testing.TB
}

// Launch starts a server and waits for nothing.
func (s *Tested) Launch(cmd *exec.Cmd) *Running {
	s.T.Helper()
	v, err := Launch(cmd)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(v.Kill)
	return &Running{v, s.T}
}

// Start starts the product with the site's configuration and returns when it is ready.
func (s *Tested) Start() *Running {
	s.T.Helper()
	return s.Launch(s.Command(s.Config)).AwaitReady()
}

// AwaitReady requires that the server becomes ready.
func (v *Running) AwaitReady() *Running {
	v.T.Helper()
	if err := v.Ready(); err != nil {
		v.T.Fatal(err)
	}
	return v
}

// AwaitEnd waits for the server's end and returns its exit code.
func (v *Running) AwaitEnd() int {
	v.T.Helper()
	code, err := v.Exit()
	if err != nil {
		v.T.Fatal(err)
	}
	return code
}

// StopBy ends the server with a signal and returns its exit code.
func (v *Running) StopBy(sig os.Signal) int {
	v.T.Helper()
	code, err := v.Stop(sig)
	if err != nil {
		v.T.Fatal(err)
	}
	return code
}
