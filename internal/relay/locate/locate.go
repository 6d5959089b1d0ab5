// Package locate finds the real codex binary. What people install from npm is a script: a shim that starts the binary as
// its own child. Killing the shim leaves the binary alive, holding the thread's writer lock, so the shim is read and
// never run (R-CONN-10).
//
// Layout of the npm packages, which every package manager keeps:
//
//	node_modules/.bin/codex                       link to, or script that names, ../@openai/codex/bin/codex.js
//	node_modules/@openai/codex/bin/codex.js       the shim
//	node_modules/@openai/codex-<platform>/vendor/<target>/bin/codex   the binary; also nested below @openai/codex,
//	                                              or in vendor/ of @openai/codex itself in older versions
package locate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sekisho/internal/fault"
)

// Options says where to look. The zero value searches PATH.
type Options struct {
	// Path is an explicit binary, shim, package or node_modules directory. It is used or refused, never passed over.
	Path string
	// PATH is the search path; empty means the environment's.
	PATH string
	// GOOS and GOARCH choose the platform package; empty means this system's. For tests.
	GOOS, GOARCH string
}

// Found is a binary that can be started.
type Found struct {
	// Binary is the absolute path of the real binary, links resolved.
	Binary string
	// Via is the shim that led to it, empty when the binary itself was named.
	Via string
	// PackageVersion is the version in package.json beside the binary, empty if there is none. It is a claim of a file;
	// the binary's own --version decides.
	PackageVersion string
}

// Codex finds the binary. Errors are codex.not_found (nothing there), codex.no_binary (a shim without its platform
// package) or codex.unusable (there, but not something that can be started).
func Codex(o Options) (Found, error) {
	s, err := newSearch(o)
	if err != nil {
		return Found{}, err
	}
	if o.Path != "" {
		return s.explicit(o.Path)
	}
	for _, dir := range filepath.SplitList(s.path) {
		if !filepath.IsAbs(dir) {
			continue // a relative entry would depend on the working directory
		}
		for _, name := range s.names {
			candidate := filepath.Join(dir, name)
			if info, err := os.Stat(candidate); err == nil && !info.IsDir() {
				return s.resolve(candidate)
			}
		}
	}
	return Found{}, fault.New(fault.CodexNotFound, fault.Target("PATH"))
}

func (s *search) explicit(path string) (Found, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Found{}, unusable(path, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Found{}, fault.New(fault.CodexNotFound, fault.Variant("path"), fault.Target(abs))
	case err != nil:
		return Found{}, unusable(abs, err)
	case info.IsDir():
		return s.directory(abs)
	}
	return s.resolve(abs)
}

// directory accepts a package, a platform package, or a directory with node_modules in or above it.
func (s *search) directory(dir string) (Found, error) {
	for _, base := range []string{dir, filepath.Join(dir, "node_modules", "@openai", "codex"), filepath.Join(dir, "@openai", "codex")} {
		if found, ok := s.fromPackage(base); ok {
			found.Via = dir
			return found, nil
		}
	}
	return Found{}, fault.New(fault.CodexNotFound, fault.Variant("path"), fault.Target(dir))
}

func unusable(path string, err error) error {
	reason := err.Error()
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		reason = pe.Err.Error()
	}
	return fault.New(fault.CodexUnusable, fault.Target(path), fault.Arg("reason", reason), fault.Cause(err))
}
