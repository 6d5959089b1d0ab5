// Package resolve turns paths of a configuration into the objects they mean: canonical path, identity, file system, and for
// programs the SHA-256 of their bytes (A-POL-02, A-POL-04).
//
// It is used when a configuration is applied and when a start compares with what was applied. Each answer comes from one
// descriptor: the object is opened through all links, the kernel tells its canonical path, and that path must lead to the
// same object without any link. While a task runs nothing resolves here; rootio does, below the roots' descriptors.
package resolve

import (
	"context"
	"errors"
	"path"
	"strings"
	"syscall"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// ResolvedRoot is one directory of a configuration.
type ResolvedRoot struct {
	Declared string
	// Path is absolute and free of links, "." and "..".
	Path string
	ID   sandbox.FileID
	// Filesystem is the type's name, such as "ext2/3/4" or "nfs"; a magic number in hexadecimal when unknown.
	Filesystem string
}

// Root resolves an existing directory. Errors: *fault.Error sandbox.resolution_unconfirmed (missing, cycle, moved while it
// was resolved), variant not_directory for any other kind; preflight.unsupported_os.
func Root(name string) (ResolvedRoot, error) {
	o, err := rootio.Follow(name)
	if err != nil {
		return ResolvedRoot{}, err
	}
	defer o.Close()
	if o.Info().Kind != rootio.Dir {
		return ResolvedRoot{}, fault.New(fault.SandboxResolutionUnconfirmed, fault.Variant("not_directory"), fault.Target(name))
	}
	return ResolvedRoot{Declared: name, Path: o.Path(), ID: o.Info().ID, Filesystem: o.Filesystem}, nil
}

// ResolvedExecutable is one program of a configuration.
type ResolvedExecutable struct {
	Declared   string
	Path       string
	ID         sandbox.FileID
	Filesystem string
	SHA256     string // lower-case hex
	// Interpreters are what runs it when it is a script, native last (A-POL-11); none for a native program.
	Interpreters []ResolvedInterpreter
}

// Executable is ExecutableIn the SystemPath.
func Executable(name string) (ResolvedExecutable, error) { return ExecutableIn(name, SystemPath) }

// ExecutableIn resolves and hashes an existing regular file, and the interpreters of a script, for which env looks in
// search. Errors as Root, variant not_file for any other kind, which is not opened, and not_executable for a
// file without any execute bit; as Interpreters. It is for applying and starting, where nothing is served yet.
func ExecutableIn(name, search string) (ResolvedExecutable, error) {
	ctx := context.Background()
	o, err := openExecutable(name)
	if err != nil {
		return ResolvedExecutable{}, err
	}
	defer o.Close()
	e := ResolvedExecutable{Declared: name, Path: o.Path(), ID: o.Info().ID, Filesystem: o.Filesystem}
	f, err := o.Reader()
	if err != nil {
		return ResolvedExecutable{}, fault.New(fault.SandboxResolutionUnconfirmed, fault.Target(name), fault.Cause(err))
	}
	defer f.Close()
	if e.SHA256, err = HashFile(ctx, f); err != nil {
		return ResolvedExecutable{}, fault.New(fault.SandboxResolutionUnconfirmed, fault.Target(name), fault.Cause(err))
	}
	if e.Interpreters, err = Interpreters(ctx, e.Path, f, search, OnHost); err != nil || len(e.Interpreters) == 0 {
		return e, err
	}
	if info, err := f.Stat(); err != nil || info.Size() > MaxScript {
		return ResolvedExecutable{}, fault.New(fault.ExecutableScriptInvalid, fault.Variant("too_large"), fault.Target(name), fault.Cause(err))
	}
	// The line belongs to the digest: a file that changed in between has neither.
	if again, err := HashFile(ctx, f); err != nil || again != e.SHA256 {
		return ResolvedExecutable{}, fault.New(fault.SandboxResolutionUnconfirmed, fault.Target(name), fault.Cause(errors.Join(err, errors.New("it changed while it was read"))))
	}
	return e, nil
}

func openExecutable(name string) (*rootio.Object, error) {
	o, err := rootio.Follow(name)
	if err != nil {
		return nil, err
	}
	variant := ""
	switch {
	case o.Info().Kind != rootio.File:
		variant = "not_file"
	case o.Info().Mode&0o111 == 0:
		variant = "not_executable"
	default:
		return o, nil
	}
	o.Close()
	return nil, fault.New(fault.SandboxResolutionUnconfirmed, fault.Variant(variant), fault.Target(name))
}

// Verify confirms that root still is the object of the policy: sandbox.resolution_changed, or for an entry
// executable.resolution_changed, when not.
func Verify(root sandbox.Root) error {
	r, err := rootio.Open(root.Path, root.ID)
	if err != nil {
		if fault.CodeOf(err) == fault.SandboxResolutionChanged && root.File {
			return fault.New(fault.ExecutableResolutionChanged, fault.Target(root.Path), fault.Cause(err))
		}
		return err
	}
	return r.Close()
}

// Within tells, element by element, whether name is root or lies below it; /a/b does not contain /a/bc. Both are absolute
// and clean, as resolved paths are.
func Within(root, name string) bool {
	rest, ok := strings.CutPrefix(name, root)
	return ok && (rest == "" || root == "/" || rest[0] == '/')
}

// ProtectedPath is a path that no root may expose, resolved as far as it exists (A-POL-09).
type ProtectedPath struct {
	Path string
	// Above are the identities of Path and of every directory above it, as far as they exist.
	Above []sandbox.FileID
}

// Protected resolves an absolute path of which any number of last elements may be missing.
func Protected(name string) (ProtectedPath, error) {
	var rest []string
	for p := path.Clean(name); ; p = path.Dir(p) {
		o, err := rootio.Follow(p)
		if err == nil {
			full := path.Join(append([]string{o.Path()}, rest...)...)
			o.Close()
			above, err := identities(full)
			return ProtectedPath{Path: full, Above: above}, err
		}
		if !errors.Is(err, syscall.ENOENT) || p == "/" {
			return ProtectedPath{}, err
		}
		rest = append([]string{path.Base(p)}, rest...)
	}
}

func identities(p string) ([]sandbox.FileID, error) {
	var ids []sandbox.FileID
	for ; ; p = path.Dir(p) {
		o, err := rootio.Follow(p)
		if err == nil {
			ids = append(ids, o.Info().ID)
			o.Close()
		} else if !errors.Is(err, syscall.ENOENT) {
			return nil, err
		}
		if p == "/" {
			return ids, nil
		}
	}
}

// OSRuntime lists the system's own programs and libraries, the os_runtime_root of section 13: /usr, and those of /bin,
// /sbin, /lib, /lib32, /lib64 and /libx32 that are directories of their own and no links into it.
func OSRuntime() ([]ResolvedRoot, error) {
	var roots []ResolvedRoot
	for _, name := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		r, err := Root(name)
		if errors.Is(err, syscall.ENOENT) && name != "/usr" {
			continue
		}
		if err != nil {
			return nil, err
		}
		if r.Path == name {
			roots = append(roots, r)
		}
	}
	return roots, nil
}
