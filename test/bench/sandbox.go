//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sekisho/internal/sandbox"
)

const smallest = "/usr/bin/true"

// small compares the smallest program.
func (b *bench) small() error {
	return b.compare(entry{name: "true", path: smallest, warm: 61, cold: 41, goal: goal{bound: 1.4}})
}

// large compares programs whose bytes, hashed at the first start, are what they cost.
func (b *bench) large() error {
	dir := filepath.Join(b.dir, "entries") // beside the workspace, as programs that somebody approved are
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var entries []entry
	for _, e := range []struct {
		megabytes, warm, cold int
		goal                  goal
	}{{15, 21, 11, goal{}}, {100, 21, 5, goal{bound: 1.2}}} {
		path, err := b.padded(dir, e.megabytes)
		if err != nil {
			return err
		}
		entries = append(entries, entry{name: fmt.Sprintf("%d MB static entry", e.megabytes), path: path, warm: e.warm, cold: e.cold, goal: e.goal})
	}
	if os.Geteuid() != 0 {
		note("", "(a user's own programs are hashed at each start, root's only after a change)")
	}
	time.Sleep(2100 * time.Millisecond) // what was changed a moment ago is hashed again
	return b.compare(entries...)
}

// entry is one program with the numbers of its pairs.
type entry struct {
	name, path string
	warm, cold int
	goal       goal // of the warm run
}

// compare runs programs warm and cold beside plain runs of them.
func (b *bench) compare(entries ...entry) error {
	workspace, err := b.workspace()
	if err != nil {
		return err
	}
	t, err := b.newTask(workspace)
	if err != nil {
		return err
	}
	b.columns()
	for _, e := range entries {
		if err := t.approve(e.path); err != nil {
			return err
		}
	}
	for _, e := range entries {
		c, err := command(e.path, workspace)
		if err != nil {
			return err
		}
		if err := t.open(); err != nil {
			return errors.Join(err, t.close())
		}
		s, err := b.interleave(b.pairs(e.warm), t.warm(c), plain(e.path))
		if err = errors.Join(err, t.close()); err != nil {
			return err
		}
		s.row(e.name+", warm", e.goal)
		if s, err = b.interleave(b.pairs(e.cold), t.cold(c), plain(e.path)); err != nil {
			return err
		}
		s.row(e.name+", cold", goal{})
	}
	return nil
}

// smallest declares a task, and the smallest program in its workspace.
func (b *bench) smallest() (workspace string, t *task, c sandbox.Command, err error) {
	if workspace, err = b.workspace(); err != nil {
		return "", nil, c, err
	}
	if t, err = b.newTask(workspace); err != nil {
		return "", nil, c, err
	}
	c, err = command(smallest, workspace)
	return workspace, t, c, err
}

// workspace makes the directory that tasks may write and run programs from.
func (b *bench) workspace() (string, error) {
	dir := filepath.Join(b.dir, "workspace")
	return dir, os.MkdirAll(dir, 0o755)
}

// padded builds a static program of about the given size that ends at once.
func (b *bench) padded(dir string, megabytes int) (string, error) {
	source, err := os.MkdirTemp(b.dir, "source-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(source)
	main := `package main

import (
	_ "embed"
	"os"
)

//go:embed pad
var pad string

func main() {
	if len(os.Args) > 100 {
		os.Stdout.WriteString(pad)
	}
}
`
	pad := strings.Repeat("sekisho!", (megabytes-1)<<17)
	for name, text := range map[string]string{"main.go": main, "pad": pad, "go.mod": "module padded\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	out := filepath.Join(dir, fmt.Sprintf("entry-%d", megabytes))
	build := exec.CommandContext(b.ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", out, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building a program of %d MB: %w\n%s", megabytes, err, said)
	}
	return out, nil
}

// bubblewrap compares a cold sandbox with the usual tool for namespaces.
func (b *bench) bubblewrap() error {
	name := "true, cold and from a spare"
	path, err := b.installed("bwrap")
	if err != nil {
		notRun(name, err.Error())
		return nil
	}
	argv := []string{path, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--new-session", "--die-with-parent", "--ro-bind", "/usr", "/usr"}
	for _, link := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if to, err := os.Readlink(link); err == nil {
			argv = append(argv, "--symlink", to, link)
		} else if _, err := os.Stat(link); err == nil {
			argv = append(argv, "--ro-bind", link, link)
		}
	}
	argv = append(argv, "--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/", smallest)
	if err := plain(argv...)(); err != nil {
		notRun(name, "bubblewrap cannot make its namespaces here: "+err.Error())
		return nil
	}
	workspace, t, c, err := b.smallest()
	if err != nil {
		return err
	}
	s, err := b.interleave(b.pairs(41), t.cold(c), plain(argv...))
	if err != nil {
		return err
	}
	b.columns()
	s.row("true, cold", goal{bound: 1})
	if s, err = b.interleaveReady(b.pairs(41), t.spare, t.first(c), t.close, plain(argv...)); err != nil {
		return errors.Join(err, t.close())
	}
	s.row("true, first run from the spare", goal{bound: 0.5})
	return b.throughBroker(workspace, c, plain(argv...))
}

// packages are the Debian packages of programs to compare with.
var packages = map[string]string{"bwrap": "bubblewrap", "socat": "socat", "rg": "ripgrep"}

// installed looks for a program and, as root, has it installed where Debian's tools are.
func (b *bench) installed(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	name := packages[program]
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return "", fmt.Errorf("%s is not installed, and only root can install it here", name)
	}
	note("", "installing %s with apt-get, to compare with it", name)
	install := exec.CommandContext(b.ctx, "sh", "-c", `apt-get install -y -q "$1" || { apt-get update -q && apt-get install -y -q "$1"; }`, "sh", name)
	install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if said, err := install.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		return "", fmt.Errorf("%s is not installed and apt-get failed: %s", name, lines[len(lines)-1])
	}
	return exec.LookPath(program)
}
