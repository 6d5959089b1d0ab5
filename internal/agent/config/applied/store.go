package applied

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"sekisho/internal/agent/config/userfile"
	"sekisho/internal/atomicfile"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/statedir"
	"sekisho/internal/strictjson"
)

const storeDir = "applied-configurations"

// Store is the Applied Configuration Store: one snapshot per configuration path below the state root (A-CFG-03). Only Apply
// writes it. Concurrent appliers are safe, the last one wins as a whole.
type Store struct {
	fsys      fileop.FS
	stateRoot string
	command   func(config string) string
}

// NewStore returns the store below a state root; nothing is created before Replace. Command is what a person types to apply a
// configuration.
func NewStore(fsys fileop.FS, stateRoot string, command func(config string) string) *Store {
	return &Store{fsys: fsys, stateRoot: stateRoot, command: command}
}

// Path is the file that holds a configuration's snapshot.
func (s *Store) Path(configPath string) string {
	return filepath.Join(s.stateRoot, storeDir, snapshotName(configPath))
}

func snapshotName(configPath string) string {
	sum := sha256.Sum256([]byte(configPath))
	return hex.EncodeToString(sum[:]) + ".json"
}

// Read returns the applied snapshot. Without one it is a configuration.not_applied fault; a record that is malformed, belongs
// to another configuration, or could have been written by another account is its variant corrupt, and is left as it is.
func (s *Store) Read(configPath string) (Snapshot, error) {
	path := s.Path(configPath)
	snap, err := readSnapshot(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Snapshot{}, fault.New(fault.ConfigurationAbsent, fault.Target(configPath), fault.Arg("command", s.command(configPath)))
	case err == nil && snap.ConfigPath != configPath:
		err = fmt.Errorf("the record belongs to %s", snap.ConfigPath)
	}
	if err != nil {
		return Snapshot{}, fault.New(fault.ConfigurationAbsent, fault.Variant("corrupt"), fault.Target(path), fault.Arg("config", configPath),
			fault.Arg("command", s.command(configPath)), fault.Cause(err))
	}
	return snap, nil
}

func readSnapshot(path string) (Snapshot, error) {
	if err := userfile.CheckPrivate(path); err != nil {
		return Snapshot{}, err
	}
	data, err := userfile.Read(path, maxSnapshotBytes)
	if err != nil {
		return Snapshot{}, err
	}
	return decodeSnapshot(data)
}

// Replace makes snap the configuration's snapshot, as a whole, flushed before it returns.
func (s *Store) Replace(snap Snapshot) error {
	if err := snap.wellFormed(); err != nil {
		return fmt.Errorf("applying the configuration: %w", err)
	}
	data, err := strictjson.Marshal(snap)
	if err != nil {
		return fmt.Errorf("applying the configuration: %w", err)
	}
	if len(data) > maxSnapshotBytes {
		return fmt.Errorf("applying the configuration: %d bytes do not fit into a snapshot", len(data))
	}
	root, err := statedir.Open(s.fsys, s.stateRoot)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := root.Sub(storeDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := atomicfile.Write(s.fsys, dir, snapshotName(snap.ConfigPath), append(data, '\n'), 0o600); err != nil {
		return fault.New(fault.StateUnusable, fault.Target(s.Path(snap.ConfigPath)), fault.Cause(err))
	}
	return nil
}

// Compare proves that current is exactly what was applied (A-CFG-05). A difference is a configuration.changed fault that
// names each one and the command to run.
func (s *Store) Compare(current Snapshot) error {
	applied, err := s.Read(current.ConfigPath)
	if err != nil {
		return err
	}
	changes := Diff(applied, current)
	if len(changes) == 0 {
		return nil
	}
	return fault.New(fault.ConfigurationChanged, fault.Target(current.ConfigPath), fault.Arg("differences", inline(changes)),
		fault.Arg("command", s.command(current.ConfigPath)))
}
