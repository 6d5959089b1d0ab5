// Package applied is the Applied Configuration Store (A-CFG-03): what a configuration declared and what it resolved to on this
// machine when a person applied it, one record a configuration, and how one such snapshot differs from another. Only Replace
// changes anything.
package applied

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
	"sekisho/internal/strictjson"
)

// Schema is the schema version of a Snapshot on disk.
const Schema = 2

// MountAccesses are the values of sandbox.mounts[].access (A-POL-01).
var MountAccesses = []string{"read_only", "read_write", "read_write_delete"}

var aliasPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`) })

// ValidAlias reports whether an entry may have this alias.
func ValidAlias(alias string) bool { return aliasPattern().MatchString(alias) }

// maxSnapshotBytes bounds a snapshot file; a thousand entries stay far below it.
const maxSnapshotBytes = 4 << 20

// Snapshot is one record of the Applied Configuration Store: what was declared and what it resolved to (A-CFG-03).
type Snapshot struct {
	SchemaVersion int    `json:"schema_version"`
	ConfigPath    string `json:"config_path"`
	// Fingerprint covers every written value of the merged YAML.
	Fingerprint string `json:"fingerprint"`
	// Values are those values by key path, in the form of yamltree's Flat, so that a difference can be named. The YAML holds
	// no secret: a header's value lies in a file of its own, and an address with a password is refused.
	Values      map[string]string      `json:"values"`
	Profile     string                 `json:"profile"`
	Workspaces  []Resolution           `json:"workspaces"`
	Mounts      []MountResolution      `json:"mounts"`
	Entries     []EntryResolution      `json:"entries"`
	Network     sandbox.NetworkPolicy  `json:"network"`
	Resources   sandbox.ResourcePolicy `json:"resources"`
	Environment map[string]string      `json:"environment"`
	TempMB      int                    `json:"temp_mb"`
	HomeMB      int                    `json:"home_mb"`
}

// Resolution is one declared directory: as written, where it leads, which object that is, and on which kind of filesystem.
type Resolution struct {
	Logical string `json:"logical"`
	// Declared is the absolute path that Logical means, when links lead from it to Resolved; else "".
	Declared   string         `json:"declared,omitempty"`
	Resolved   string         `json:"resolved"`
	ID         sandbox.FileID `json:"id"`
	Filesystem string         `json:"filesystem"`
}

// MountResolution is a mount with its access.
type MountResolution struct {
	Resolution
	Access string `json:"access"`
}

// EntryResolution is one execution entry. The file's identity is its SHA-256, so that an equal copy needs no new approval.
type EntryResolution struct {
	Alias       string        `json:"alias"`
	Class       sandbox.Class `json:"class"`
	Logical     string        `json:"logical"`
	Declared    string        `json:"declared,omitempty"` // as Resolution's
	Resolved    string        `json:"resolved"`
	SHA256      string        `json:"sha256"`
	Filesystem  string        `json:"filesystem"`
	RuntimeRoot *Resolution   `json:"runtime_root,omitempty"`
	// Interpreters are the other part of a script's pair (A-POL-11).
	Interpreters []InterpreterResolution `json:"interpreters,omitempty"`
	Environment  map[string]string       `json:"environment,omitempty"`
	// Object is the object that was just resolved; a stored record has none.
	Object sandbox.FileID `json:"-"`
}

// InterpreterResolution is one interpreter of a script, see sandbox.Interpreter.
type InterpreterResolution struct {
	sandbox.Interpreter
	Filesystem string         `json:"filesystem"`
	Object     sandbox.FileID `json:"-"`
}

// decodeSnapshot is strict: unknown members, duplicate names, malformed hashes or paths make the record corrupt.
func decodeSnapshot(data []byte) (Snapshot, error) {
	var s Snapshot
	if err := strictjson.Unmarshal(data, maxSnapshotBytes, &s); err != nil {
		return Snapshot{}, err
	}
	if err := s.wellFormed(); err != nil {
		return Snapshot{}, err
	}
	return s, nil
}

// wellFormed checks what A-CFG-05 asks of a record.
func (s Snapshot) wellFormed() error {
	switch {
	case s.SchemaVersion != Schema:
		return fmt.Errorf("schema version %d, expected %d", s.SchemaVersion, Schema)
	case !cleanAbs(s.ConfigPath):
		return errors.New("the configuration's path is not absolute")
	case !isSHA256(s.Fingerprint):
		return errors.New("the fingerprint is not a SHA-256")
	case s.Values["schema_version"] == "":
		return errors.New("the values of the files are missing")
	case s.Profile != policy.ProfileReadonly && s.Profile != policy.ProfileDevelopment:
		return fmt.Errorf("unknown profile %q", s.Profile)
	}
	for _, w := range s.Workspaces {
		if err := w.wellFormed(); err != nil {
			return fmt.Errorf("workspace: %w", err)
		}
	}
	for _, m := range s.Mounts {
		if err := m.wellFormed(); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
		if !slices.Contains(MountAccesses, m.Access) {
			return fmt.Errorf("mount: unknown access %q", m.Access)
		}
	}
	aliases := map[string]bool{}
	for _, e := range s.Entries {
		if err := e.wellFormed(); err != nil {
			return fmt.Errorf("entry: %w", err)
		}
		folded := strings.ToLower(e.Alias)
		if aliases[folded] {
			return fmt.Errorf("entry: alias %q twice", e.Alias)
		}
		aliases[folded] = true
	}
	return s.limitsWellFormed()
}

func (s Snapshot) limitsWellFormed() error {
	r := s.Resources
	if r.MemoryMB < 1 || r.ProcessLimit < 1 || r.TimeoutSeconds < 1 || r.Cgroup == "" || s.TempMB < 1 || s.HomeMB < 1 {
		return errors.New("a resource limit is missing")
	}
	return networkWellFormed(s.Network)
}

// networkWellFormed accepts the canonical form only.
func networkWellFormed(n sandbox.NetworkPolicy) error {
	switch n.Access {
	case sandbox.NetworkNone, sandbox.NetworkLocal, sandbox.NetworkRestricted:
	default:
		return fmt.Errorf("unknown network access %q", n.Access)
	}
	if (n.Access == sandbox.NetworkLocal) != (len(n.Local) > 0) || (n.Access == sandbox.NetworkRestricted) != (len(n.Restricted) > 0) {
		return fmt.Errorf("network access %q does not fit its endpoints", n.Access)
	}
	if !portsWellFormed(n.Local) {
		return fmt.Errorf("local ports %v", n.Local)
	}
	for _, e := range n.Restricted {
		host, err := policy.CanonicalHost(e.Host)
		if variant, _ := policy.HostProblem(e.Host); err != nil || variant != "" || host != e.Host || len(e.Ports) == 0 || !portsWellFormed(e.Ports) {
			return fmt.Errorf("endpoint %q %v", e.Host, e.Ports)
		}
	}
	return nil
}

func portsWellFormed(ports []int) bool {
	for i, p := range ports {
		if p < 1 || p > 65535 || i > 0 && ports[i-1] >= p {
			return false
		}
	}
	return true
}

func (r Resolution) wellFormed() error {
	if r.Logical == "" || !cleanAbs(r.Resolved) {
		return fmt.Errorf("resolved path %q is not absolute", r.Resolved)
	}
	return declaredWellFormed(r.Declared, r.Resolved)
}

func declaredWellFormed(declared, resolved string) error {
	if declared != "" && (!cleanAbs(declared) || declared == resolved) {
		return fmt.Errorf("declared path %q is not absolute or no other spelling", declared)
	}
	return nil
}

func (e EntryResolution) wellFormed() error {
	switch {
	case !ValidAlias(e.Alias):
		return fmt.Errorf("malformed alias %q", e.Alias)
	case e.Class != sandbox.ClassEntry && e.Class != sandbox.ClassShell:
		return fmt.Errorf("unknown class %q", e.Class)
	case e.Logical == "" || !cleanAbs(e.Resolved):
		return fmt.Errorf("resolved path %q is not absolute", e.Resolved)
	case !isSHA256(e.SHA256):
		return errors.New("the hash is not a SHA-256")
	case e.RuntimeRoot != nil:
		if err := e.RuntimeRoot.wellFormed(); err != nil {
			return err
		}
	}
	for _, in := range e.Interpreters {
		if in.Name == "" || !cleanAbs(in.Path) || !cleanAbs(in.Found) || !isSHA256(in.SHA256) {
			return fmt.Errorf("malformed interpreter %q", in.Path)
		}
	}
	return declaredWellFormed(e.Declared, e.Resolved)
}

func cleanAbs(path string) bool { return filepath.IsAbs(path) && filepath.Clean(path) == path }

// isSHA256 accepts 64 lower-case hex digits.
func isSHA256(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 32 && strings.ToLower(s) == s
}

// Normalize sorts what has no order of its own and replaces nil by empty, so that equal content compares equal.
func (s *Snapshot) Normalize() {
	byPath := func(a, b Resolution) int {
		return cmp.Or(strings.Compare(a.Resolved, b.Resolved), strings.Compare(a.Logical, b.Logical))
	}
	s.Workspaces = append([]Resolution{}, s.Workspaces...)
	s.Mounts = append([]MountResolution{}, s.Mounts...)
	s.Entries = append([]EntryResolution{}, s.Entries...)
	slices.SortFunc(s.Workspaces, byPath)
	slices.SortFunc(s.Mounts, func(a, b MountResolution) int {
		return cmp.Or(byPath(a.Resolution, b.Resolution), strings.Compare(a.Access, b.Access))
	})
	slices.SortFunc(s.Entries, func(a, b EntryResolution) int {
		return strings.Compare(strings.ToLower(a.Alias), strings.ToLower(b.Alias))
	})
	if s.Environment == nil {
		s.Environment = map[string]string{}
	}
}

// Declared turns a snapshot into the policy's input; the caller adds what a snapshot does not hold.
func (s Snapshot) Declared(osRuntime []policy.Directory) policy.SandboxPolicy {
	d := policy.SandboxPolicy{Profile: s.Profile, OSRuntime: osRuntime, Network: s.Network, Environment: s.Environment, TempMB: s.TempMB, HomeMB: s.HomeMB,
		Resources: policy.Resources(s.Resources)}
	for _, w := range s.Workspaces {
		d.Workspaces = append(d.Workspaces, w.declared())
	}
	for _, m := range s.Mounts {
		d.Mounts = append(d.Mounts, policy.Mount{Directory: m.declared(), Access: m.Access})
	}
	for _, e := range s.Entries {
		entry := policy.Entry{Alias: e.Alias, Declared: e.Declared, Path: e.Resolved, ID: e.Object, SHA256: e.SHA256, Filesystem: e.Filesystem, Environment: e.Environment}
		for _, in := range e.Interpreters {
			entry.Interpreters = append(entry.Interpreters, policy.Interpreter{Interpreter: in.Interpreter, ID: in.Object, Filesystem: in.Filesystem})
		}
		if e.RuntimeRoot != nil {
			dir := e.RuntimeRoot.declared()
			entry.RuntimeRoot = &dir
		}
		d.Entries = append(d.Entries, entry)
	}
	return d
}

func (r Resolution) declared() policy.Directory {
	return policy.Directory{Declared: r.Declared, Path: r.Resolved, ID: r.ID, Filesystem: r.Filesystem}
}
