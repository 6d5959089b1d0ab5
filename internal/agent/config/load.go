package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"sekisho/internal/agent/config/applied"
	"sekisho/internal/agent/config/userfile"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/locale"
	"sekisho/internal/yamltree"
)

// OverlayName is the file beside the base file that is laid over it (A-CFG-02).
const OverlayName = "agent.local.yaml"

// Places are the absolute paths that configuration depends on (A-CFG-06).
type Places struct {
	Config     string // the base file
	Executable string // the running program; built-in defaults lie beside it
	StateRoot  string
	// CacheRoot holds the HOMEs of workspaces.
	CacheRoot string
	// Program is how a person starts this program: its absolute path as it was invoked. "" means Executable.
	Program string
	// BuiltIn tells that no configuration was named, so that Config is the one beside the executable.
	BuiltIn bool
}

// command is a line that a person can copy into a shell.
func (p Places) command(name, config string) string {
	return p.program() + " " + name + " " + ShellQuote(config)
}

// Start is the line that starts the server with this configuration.
func (p Places) Start() string { return p.program() + " " + ShellQuote(p.Config) }

// Store is the Applied Configuration Store of the state root.
func (p Places) Store(fsys fileop.FS) *applied.Store {
	return applied.NewStore(fsys, p.StateRoot, func(config string) string { return p.command("apply", config) })
}

func (p Places) program() string { return ShellQuote(cmp.Or(p.Program, p.Executable)) }

// Locate finds the places. Arg is the command line's configuration file, or "" for the built-in config/agent.yaml beside
// the executable. Only arg is taken against the working directory: it was typed there.
func Locate(arg, executable, stateRoot string) (Places, error) {
	builtIn := arg == ""
	if builtIn {
		arg = filepath.Join(filepath.Dir(executable), "config", "agent.yaml")
	}
	abs, err := filepath.Abs(arg)
	if err == nil && !utf8.ValidString(abs) {
		err = errNotUTF8 // the snapshot could not name it exactly
	}
	if err != nil {
		return Places{}, fmt.Errorf("locating the configuration: %w", err)
	}
	return Places{Config: abs, Executable: executable, StateRoot: stateRoot, BuiltIn: builtIn}, nil
}

// Loaded is a configuration that was read. Config is valid only when Load reported no errors.
type Loaded struct {
	Places Places
	Config Config
	// Fingerprint is the SHA-256, in hex, of the merged tree's canonical form: comments, order of keys and layout of the
	// files do not count, every written value does.
	Fingerprint string
	// Files are the files that were read: the base, and the overlay if there is one.
	Files []string
	// Locale answers in the configured language, or in the nearest that could be had; it is never nil.
	Locale *locale.Catalogue

	tree *yamltree.Node
	// flawed tells that Load reported errors, so that only single declarations can be judged.
	flawed bool
}

// Problems is what Load or Resolve found.
type Problems struct {
	Errors   []yamltree.Problem
	Warnings []yamltree.Problem

	config string // the base file
	faults []error
}

// Err is nil without errors, else one coded error for all of them: configuration.feature_unavailable when that is all that is
// wrong, configuration.invalid otherwise. Write tells the details; the faults of Resolve are its cause.
func (p Problems) Err() error {
	if len(p.Errors) == 0 {
		return nil
	}
	first := p.Errors[0]
	opts := []fault.Option{fault.Target(p.config), fault.Arg("count", len(p.Errors)), fault.Arg("key", first.Path), fault.Cause(errors.Join(p.faults...))}
	for _, e := range p.Errors {
		if e.Code != fault.FeatureUnavailable {
			return fault.New(fault.ConfigurationInvalid, opts...)
		}
	}
	return fault.New(fault.FeatureUnavailable, opts...)
}

// Load reads and checks the configuration: the whole vocabulary of the specification's section 14, types, ranges, the
// files that it names, languages. It finds everything in one run and changes nothing.
func Load(places Places) (*Loaded, Problems) {
	l := &Loaded{Places: places, Locale: compiledIn(locale.English)}
	tree, found := readTrees(l)
	if len(found) > 0 {
		yamltree.Sort(found)
		return l, Problems{Errors: found, config: places.Config}
	}
	l.tree = tree
	sum := sha256.Sum256(tree.Canonical())
	l.Fingerprint = hex.EncodeToString(sum[:])

	r := yamltree.NewReader(tree)
	s := sections{places: places, c: &l.Config, texts: l}
	s.read(r)
	return l, Problems{Errors: r.Problems(), Warnings: r.Warnings(), config: places.Config}
}

// Examine is Load, and when that found errors also what Resolve finds about the declarations that could be read: one run
// tells both, a misspelt alias and the path beside it that does not exist.
func Examine(places Places) (*Loaded, Problems) {
	l, p := Load(places)
	if len(p.Errors) == 0 || l.tree == nil {
		return l, p
	}
	l.flawed = true
	_, more := Resolve(l)
	p.Errors, p.faults = append(p.Errors, more.Errors...), append(p.faults, more.faults...)
	yamltree.Sort(p.Errors)
	return l, p
}

func readTrees(l *Loaded) (*yamltree.Node, []yamltree.Problem) {
	base, problems := readTree(l.Places.Config)
	if l.Places.BuiltIn && base == nil {
		if _, err := os.Lstat(l.Places.Config); errors.Is(err, fs.ErrNotExist) {
			problems = []yamltree.Problem{l.Places.noBuiltIn()}
		}
	}
	if base != nil {
		l.Files = append(l.Files, l.Places.Config)
	}
	overlay := filepath.Join(filepath.Dir(l.Places.Config), OverlayName)
	if overlay == l.Places.Config {
		return base, problems
	}
	if _, err := os.Lstat(overlay); errors.Is(err, fs.ErrNotExist) {
		return base, problems
	}
	over, more := readTree(overlay)
	if over != nil {
		l.Files = append(l.Files, overlay)
	}
	return yamltree.Merge(base, over), append(problems, more...)
}

// noBuiltIn tells somebody who named no configuration where one was looked for.
func (p Places) noBuiltIn() yamltree.Problem {
	return yamltree.Problem{Pos: yamltree.Pos{File: p.Config}, Text: yamltree.T("config.file.none_built_in", "path", p.Config),
		Accepted: yamltree.T("config.accepts.built_in", "directory", filepath.Dir(p.Executable), "command", p.program()+" FILE")}
}

func readTree(path string) (*yamltree.Node, []yamltree.Problem) {
	data, err := userfile.Read(path, yamltree.MaxBytes)
	switch {
	case errors.Is(err, userfile.ErrTooLarge):
		return nil, []yamltree.Problem{{Pos: yamltree.Pos{File: path}, Text: yamltree.T("config.file.too_large", "path", path, "limit", yamltree.MaxBytes)}}
	case err != nil:
		return nil, []yamltree.Problem{{Pos: yamltree.Pos{File: path}, Text: fileText(path, err)}}
	}
	return yamltree.Parse(path, data)
}

var errNotDirectory = errors.New("not a directory")

// fileText says why a file or directory cannot be used.
func fileText(path string, err error) yamltree.Text {
	key := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key = "config.file.missing"
	case errors.Is(err, fs.ErrPermission):
		key = "config.file.permission"
	case errors.Is(err, userfile.ErrNotRegular):
		key = "config.file.not_regular"
	case errors.Is(err, errNotDirectory):
		key = "config.file.not_directory"
	case errors.Is(err, userfile.ErrNotOwn), errors.Is(err, userfile.ErrOpenToOthers):
		key = "config.file.not_private"
	}
	if key != "" {
		return yamltree.T(key, "path", path)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err // the path is already in the message
	}
	return yamltree.T("config.file.unreadable", "path", path, "detail", err)
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`) })

// ShellQuote quotes a word for a POSIX shell when it needs that, without a backslash, which would be shown doubled.
func ShellQuote(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}
