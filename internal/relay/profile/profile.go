// Package profile reads the profiles file: the ways in which a person connects to an app-server (R-CLI-01, R-CONN-05).
//
//	selected: build            # optional; without it the local profile, or the first one
//	profiles:
//	  local:                   # no endpoint: a child of this worker
//	    codex: /opt/codex      # optional: the binary or its npm shim; otherwise PATH is searched
//	    local_root: /home/me/work
//	  build:                   # an endpoint: an app-server that already runs
//	    endpoint: wss://build.example:8443
//	    token_file: /home/me/.config/relaycodex/build.token
//	    ca_file: /home/me/ca.pem      # optional
//	    local_root: /home/me/work     # both roots name the same work tree
//	    server_root: /srv/work
//	    enabled: false                # remote profiles are off until they are enabled explicitly (R-CONN-11)
//
// The file is strict and user-only, and holds no secret: the token stays in its own file, which is read at each attempt.
package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sekisho/internal/atomicfile"
	"sekisho/internal/fault"
	"sekisho/internal/locale"
	"sekisho/internal/relay/transport"
	"sekisho/internal/visible"
	"sekisho/internal/yamltree"
)

// Local is the name of the profile that exists without a file.
const Local = "local"

// Profile is one way to connect.
type Profile struct {
	Name      string
	Endpoint  string // wss://…, or ws:// to loopback; "" is a child of this worker
	TokenFile string
	CAFile    string
	Codex     string // local only: binary or shim; "" searches PATH
	LocalRoot string // absolute path here
	// ServerRoot is the same work tree as the server names it; equal to LocalRoot for a child. Opaque here: it is a path of
	// another machine.
	ServerRoot string
	Enabled    bool
}

// Remote reports whether the server runs elsewhere, started by somebody else.
func (p Profile) Remote() bool { return p.Endpoint != "" }

// Host is what cards and connection name: "" for this machine.
func (p Profile) Host() string {
	_, rest, ok := strings.Cut(p.Endpoint, "://")
	if !ok {
		return ""
	}
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// Set is a valid profiles file. It always holds at least one profile.
type Set struct {
	Profiles []Profile // in the order of the file
	Selected string
}

// Find returns the profile of that name.
func (s Set) Find(name string) (Profile, bool) {
	i := slices.IndexFunc(s.Profiles, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return s.Profiles[i], true
}

// Problems is everything that is wrong with a file.
type Problems []yamltree.Problem

// Err is nil, or profile.invalid for all of them.
func (p Problems) Err(file string) error {
	if len(p) == 0 {
		return nil
	}
	return fault.New(fault.ProfileInvalid, fault.Target(file), fault.Arg("file", file), fault.Arg("count", len(p)))
}

// Write prints one block per problem: place, key, what is wrong, and below it what would do.
func (p Problems) Write(w io.Writer, c *locale.Catalogue) error {
	var b strings.Builder
	for _, x := range p {
		place := visible.Escape(x.Pos.File)
		if x.Pos.Line > 0 {
			place += fmt.Sprintf(":%d:%d", x.Pos.Line, x.Pos.Column)
		}
		b.WriteString(place + ": ")
		if x.Path != "" {
			b.WriteString(visible.Escape(x.Path) + ": ")
		}
		b.WriteString(c.Text(x.Text.Key, x.Text.Args) + "\n")
		switch {
		case x.Nearest != "":
			b.WriteString("    " + c.Text("config.report.nearest", map[string]string{"key": x.Nearest}) + "\n")
		case x.Accepted.Key != "":
			b.WriteString("    " + c.Text(x.Accepted.Key, x.Accepted.Args) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Path is where the profiles file lies: $XDG_CONFIG_HOME/relaycodex/profiles.yaml, ~/.config without it, %APPDATA% on
// Windows. A relative variable is ignored, as the XDG specification says.
func Path(env func(string) string) (string, error) {
	dir, err := configDir(env)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "relaycodex", "profiles.yaml"), nil
}

// Load reads path. A file that does not exist is the local profile alone, rooted at the directory cwd. Problems are what
// is wrong in the file; the error is profile.invalid with them, or variant access.
func Load(path, cwd string) (Set, Problems, error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Set{Profiles: []Profile{{Name: Local, LocalRoot: cwd, ServerRoot: cwd, Enabled: true}}, Selected: Local}, nil, nil
	}
	if err != nil {
		return Set{}, nil, fault.New(fault.ProfileInvalid, fault.Variant("access"), fault.Target(path), fault.Arg("file", path), fault.Arg("detail", err), fault.Cause(err))
	}
	set, problems := parse(path, data, cwd)
	return set, problems, problems.Err(path)
}

func read(path string) ([]byte, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := checkUserOnly(f); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, yamltree.MaxBytes+1))
}

// check is transport's judgement of an endpoint.
func check(endpoint string) error { return transport.Endpoint{URL: endpoint}.Check() }
