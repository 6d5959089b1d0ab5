// Package lifecycle ties the rooms of agent-mcp together: the start order, the graceful stop, and apply and show as
// functions (A-CLI).
//
// A start goes parse and validate → lock an instance directory → recover abandoned instances → resolve and compare with
// the Applied Configuration → preflight → transport → ready. Every step is fatal when it fails, and what the steps before
// it opened is closed in reverse order. Recovery looks at no configuration but the log directory's, so a changed or
// broken one never keeps leftovers of a crash in place (A-CLI-01).
//
// Each function prints for people (in the configured language) and returns the process's exit code.
package lifecycle

import (
	"io"
	"os"
	"path/filepath"

	shipped "sekisho/config"
	"sekisho/internal/agent/config"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/locale"
	"sekisho/internal/statedir"
	"sekisho/internal/yamltree"
)

// Exit codes (A-CLI-04).
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
)

// Options are what every command needs from the process. All but Config are required.
type Options struct {
	// Config is the configuration file of the command line, or "" for config/agent.yaml beside the executable.
	Config string
	// Executable is the absolute, resolved path of this program.
	Executable string
	// Program is the absolute path by which this program was started, for commands that are shown; "" means Executable.
	Program string
	Version string
	Env     func(string) string
	// Files performs every durable effect.
	Files  fileop.FS
	Stdin  *os.File
	Stderr io.Writer
}

// session is one command's view of its configuration.
type session struct {
	Options
	places   config.Places
	loaded   *config.Loaded
	warnings []yamltree.Problem
}

// load finds and reads the configuration and prints its problems. False means that they are errors, or that there is no
// state root to find.
func (o Options) load() (*session, bool) {
	root, err := statedir.Root(o.Env)
	if err != nil {
		o.report(english(), fault.New(fault.StateUnusable, fault.Variant("reason"), fault.Target("agent-mcp"), fault.Arg("reason", err), fault.Cause(err)))
		return nil, false
	}
	cache, err := statedir.CacheRoot(o.Env)
	if err != nil {
		o.report(english(), fault.New(fault.StateUnusable, fault.Variant("reason"), fault.Target("agent-mcp"), fault.Arg("reason", err), fault.Cause(err)))
		return nil, false
	}
	places, err := config.Locate(o.Config, o.Executable, filepath.Clean(root))
	if err != nil {
		o.report(english(), fault.New(fault.ConfigurationInvalid, fault.Variant("path"), fault.Target(o.Config), fault.Cause(err)))
		return nil, false
	}
	places.Program, places.CacheRoot = o.Program, cache
	loaded, problems := config.Examine(places)
	s := &session{Options: o, places: places, loaded: loaded, warnings: problems.Warnings}
	return s, s.check(problems)
}

// check prints problems and reports whether none of them is an error.
func (s *session) check(p config.Problems) bool {
	p.Write(s.Stderr, s.loaded.Locale)
	if err := p.Err(); err != nil {
		s.report(s.loaded.Locale, err)
		return false
	}
	return true
}

// report prints a failure: the sentence, the remedy and the stable code.
func (o Options) report(c *locale.Catalogue, err error) { config.WriteError(o.Stderr, c, err) }

// english is the compiled-in language, for what fails before a configuration could name one.
func english() *locale.Catalogue {
	texts, err := locale.Parse(shipped.English())
	if err != nil { // cannot happen: a test reads the same bytes
		panic(err)
	}
	return locale.New(locale.English, texts, texts)
}
