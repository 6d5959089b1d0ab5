package resolve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
)

const (
	// maxLevels is how many interpreters may follow each other, as in the kernel (A-POL-11).
	maxLevels = 4
	// MaxScript is the size in bytes of the largest script: a private copy of it is kept in memory while a task runs.
	MaxScript = 32 << 20
)

// SystemPath is the PATH of every payload unless the configuration says another one.
const SystemPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// Found is an executable file that a Finder opened. The reader of it closes File.
type Found struct {
	Path       string // resolved
	ID         sandbox.FileID
	Filesystem string
	File       *os.File
}

// Finder opens the executable regular file at an absolute path, through links, as far as its caller lets it. An error means
// that nothing usable is there.
type Finder func(name string) (Found, error)

// ResolvedInterpreter is one interpreter of a script.
type ResolvedInterpreter struct {
	sandbox.Interpreter
	ID         sandbox.FileID
	Filesystem string
}

// Interpreters follows the interpreter lines from the open script at name to the native program that runs it (A-POL-11).
// A native file has none. search is the PATH in which /usr/bin/env would look. Errors: *fault.Error
// executable.script_invalid about name, with the variant that says what is wrong; the context's cause.
func Interpreters(ctx context.Context, name string, script *os.File, search string, find Finder) ([]ResolvedInterpreter, error) {
	var chain []ResolvedInterpreter
	at, file := name, script
	for {
		l, isScript, err := readLine(file)
		if file != script {
			file.Close()
		}
		if err != nil {
			return nil, lineFault(err, at)
		}
		if !isScript {
			return chain, nil
		}
		if len(chain) == maxLevels {
			return nil, fault.New(fault.ExecutableScriptInvalid, fault.Variant("too_deep"), fault.Target(name), fault.Arg("line", l.name))
		}
		in, next, err := interpreter(ctx, l, search, find)
		if err != nil {
			return nil, lineFault(err, at)
		}
		if in.Path == name || slices.ContainsFunc(chain, func(c ResolvedInterpreter) bool { return c.Path == in.Path }) {
			next.Close()
			return nil, fault.New(fault.ExecutableScriptInvalid, fault.Variant("too_deep"), fault.Target(name), fault.Arg("line", l.name))
		}
		chain = append(chain, in)
		at, file = in.Path, next
	}
}

// lineFault says which file an error of a line is about.
func lineFault(err error, at string) error {
	if f := fault.As(err); f != nil && f.Target == "" {
		return f.With(fault.Target(at))
	}
	return err
}

// interpreter finds and hashes what a line names. The file is the caller's to close.
func interpreter(ctx context.Context, l interpreterLine, search string, find Finder) (ResolvedInterpreter, *os.File, error) {
	var found Found
	var where string
	err := error(badLine("missing", l.name))
	for _, where = range candidates(l, search) {
		var ferr error
		if found, ferr = find(where); ferr == nil {
			err = nil
			break
		}
		if f := fault.As(ferr); f != nil && f.Code == fault.ExecutableScriptInvalid {
			err = f.With(fault.Arg("line", l.name))
		}
	}
	if err != nil {
		return ResolvedInterpreter{}, nil, err
	}
	sum, err := HashFile(ctx, found.File)
	if err != nil {
		found.File.Close()
		if ctx.Err() != nil {
			return ResolvedInterpreter{}, nil, err
		}
		return ResolvedInterpreter{}, nil, fault.New(fault.ExecutableScriptInvalid, fault.Variant("missing"), fault.Arg("line", l.name), fault.Cause(err))
	}
	if path.Clean(where) != where {
		where = found.Path // no spelling that anybody could be given
	}
	return ResolvedInterpreter{
		Interpreter: sandbox.Interpreter{Name: l.name, Args: l.args, Path: found.Path, SHA256: sum, Found: where},
		ID:          found.ID, Filesystem: found.Filesystem,
	}, found.File, nil
}

// candidates are the paths at which a line's interpreter may be, in the order of PATH.
func candidates(l interpreterLine, search string) []string {
	if !l.lookup {
		return []string{l.name}
	}
	var out []string
	for dir := range strings.SplitSeq(search, ":") {
		if path.IsAbs(dir) {
			out = append(out, path.Join(dir, l.name))
		}
	}
	return out
}

func readLine(f *os.File) (interpreterLine, bool, error) {
	head := make([]byte, MaxLine)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return interpreterLine{}, false, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	return parseLine(head[:n])
}

// OnHost is the Finder of applying and starting: the whole file system.
func OnHost(name string) (Found, error) {
	o, err := openExecutable(name)
	if err != nil {
		return Found{}, err
	}
	defer o.Close()
	f, err := o.Reader()
	if err != nil {
		return Found{}, err
	}
	return Found{Path: o.Path(), ID: o.Info().ID, Filesystem: o.Filesystem, File: f}, nil
}
