// Package product builds the product's programs for tests that must drive the real thing.
//
// A test binary and its temporary directories lie below directories that only their owner may enter, so neither can be
// the program of a sandbox nor hold its roots for another user. What this package makes lies below /var/tmp and can be read
// by every user.
package product

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Env names a directory with programs that were built already; Build then only looks there.
const Env = "SEKISHO_BIN"

// Module is the module's path.
const Module = "sekisho"

// TB is what this package uses of testing.TB.
type TB interface {
	Helper()
	Cleanup(func())
	Fatal(...any)
}

// Dir makes an empty directory that every user can read and whose parents every user can enter; it is removed when the
// test ends.
func Dir(t TB) string {
	t.Helper()
	dir, err := newDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newDir() (string, error) {
	dir, err := os.MkdirTemp("/var/tmp", "sekisho-test-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// Bin keeps the programs of one test process. The zero value is ready; Close removes what was built.
type Bin struct {
	mu   sync.Mutex
	dir  string
	made map[string]string
}

// Build returns the path of the program whose package is pkg below the module, such as "cmd/agent-mcp", built statically
// and once.
func (b *Bin) Build(pkg string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := filepath.Base(pkg)
	if dir := os.Getenv(Env); dir != "" {
		path := filepath.Join(dir, name)
		_, err := os.Stat(path)
		return path, err
	}
	if path := b.made[pkg]; path != "" {
		return path, nil
	}
	if b.dir == "" {
		dir, err := newDir()
		if err != nil {
			return "", err
		}
		b.dir, b.made = dir, map[string]string{}
	}
	path := filepath.Join(b.dir, name)
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, Module+"/"+pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	b.made[pkg] = path
	return path, os.Chmod(path, 0o755)
}

// Main runs the tests of a package, removes the programs that they built, and exits.
func (b *Bin) Main(m interface{ Run() int }) {
	code := m.Run()
	if err := b.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// Close removes the programs that were built.
func (b *Bin) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dir == "" {
		return nil
	}
	dir := b.dir
	b.dir, b.made = "", nil
	return os.RemoveAll(dir)
}
