//go:build linux

// Command newcomer runs relaycodex for a person who tries it: with the real codex and a scripted model on loopback in
// directories that are thrown away, or with -codex-home for the account of a codex that the person uses already. It ends with
// relaycodex, at the first interrupt, and leaves nothing behind.
//
// Usage: newcomer -relay PATH -codex PATH [-codex-home DIR] [-dir DIR] [-no-open]
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
	"runtime"
	"strings"
	"syscall"
	"time"

	"sekisho/test/fakes/responses"
)

type options struct {
	relay, codex, home, dir string
	noOpen                  bool
}

func main() {
	var o options
	flag.StringVar(&o.relay, "relay", "", "the relaycodex program")
	flag.StringVar(&o.codex, "codex", "", "the codex program")
	flag.StringVar(&o.home, "codex-home", "", "CODEX_HOME of the person's own account; without it a scripted model answers")
	flag.StringVar(&o.dir, "dir", "", "working directory of the agent, with -codex-home; the present one by default")
	flag.BoolVar(&o.noOpen, "no-open", false, "print the address only")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.relay, err = filepath.Abs(o.relay); err != nil {
		return err
	}
	for _, path := range []*string{&o.home, &o.dir} {
		if *path, err = atHome(*path); err != nil {
			return err
		}
	}
	bin, err := os.MkdirTemp("", "relay-codex-") // a directory in which nothing but codex is called codex
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(bin)) }()
	if err := os.Symlink(o.codex, filepath.Join(bin, "codex")); err != nil {
		return err
	}
	env := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	dir := o.dir
	if o.home != "" {
		home, err := filepath.Abs(o.home)
		if err != nil {
			return err
		}
		if info, err := os.Stat(home); err != nil || !info.IsDir() {
			return fmt.Errorf("CODEX_HOME=%s is no directory: sign in with codex first, or leave it out to try with a scripted model", home)
		}
		env = append(env, "CODEX_HOME="+home)
		fmt.Fprintf(os.Stderr, "relay: your own codex account (%s); the agent works in %s\n", home, orHere(dir))
	} else {
		site, err := newSite()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, site.remove()) }()
		more, err := site.env()
		if err != nil {
			return err
		}
		dir, env = site.work, append(env, more...)
		fmt.Fprintf(os.Stderr, "relay: a scripted model, no account needed; the agent works in %s, removed at the end\n", dir)
	}
	args := []string{}
	if o.noOpen || os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		args = append(args, "--no-open")
	}
	fmt.Fprintf(os.Stderr, "relay: open the address below in a browser (it works once; %s url prints another); Ctrl-C ends everything\n", o.relay)
	return serve(ctx, o.relay, args, dir, env)
}

// atHome puts the home directory in place of a leading ~, which some shells leave as it is in NAME=~/x.
func atHome(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' {
		return path, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, rest), err
}

func orHere(dir string) string {
	if dir == "" {
		return "the present directory"
	}
	return dir
}

// serve runs relaycodex until ctx ends, and waits until it has ended its codex.
func serve(ctx context.Context, relay string, args []string, dir string, env []string) error {
	cmd := exec.CommandContext(ctx, relay, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// The terminal tells the whole foreground group; relaycodex would take a second interrupt for impatience.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	// The death of a thread counts as its parent's for Pdeathsig, so the thread that starts it stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if ctx.Err() != nil && cmd.ProcessState != nil && cmd.ProcessState.Success() {
		return nil
	}
	return err
}

// site is what is thrown away: a provider, a CODEX_HOME, and a working directory.
type site struct {
	provider  *responses.Server
	dir, work string
}

func newSite() (s *site, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(os.TempDir(), cache); err == nil && filepath.IsLocal(rel) {
		return nil, fmt.Errorf("the cache directory %s lies below %s, where codex cannot run its commands: set XDG_CACHE_HOME", cache, os.TempDir())
	}
	s = &site{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.remove())
		}
	}()
	parent := filepath.Join(cache, "sekisho", "relay")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return s, err
	}
	if s.dir, err = os.MkdirTemp(parent, "try-"); err != nil {
		return s, err
	}
	s.work = filepath.Join(s.dir, "work")
	for _, d := range []string{s.work, s.home(), s.configs()} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return s, err
		}
	}
	if s.provider, err = responses.Listen("127.0.0.1:0"); err != nil {
		return s, err
	}
	s.provider.Tutor()
	features := "[features]\ndefault_mode_request_user_input = true\nrequest_permissions_tool = true\n"
	return s, responses.Config{BaseURL: s.provider.URL(), Trusted: []string{s.work}, Extra: features,
		Keys: "suppress_unstable_features_warning = true\n"}.Write(s.home())
}

func (s *site) home() string    { return filepath.Join(s.dir, "codex") }
func (s *site) configs() string { return filepath.Join(s.dir, "config") }

// env keeps the person's profiles, shell startup files and keys out; the state directory stays theirs, so that relaycodex url
// finds this one.
func (s *site) env() ([]string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		state = filepath.Join(home, ".local", "state")
	}
	env := []string{"CODEX_HOME=" + s.home(), "XDG_CONFIG_HOME=" + s.configs(), "XDG_STATE_HOME=" + state, "HOME=" + s.dir}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OPENAI_") || strings.HasPrefix(name, "CODEX_") && name != "CODEX_HOME" {
			env = append(env, name+"=")
		}
	}
	return env, nil
}

func (s *site) remove() error {
	if s.provider != nil {
		s.provider.Close()
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}
