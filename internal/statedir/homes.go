package statedir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"sekisho/internal/fileop"
)

const (
	homesDir = "home"
	homeTree = "tree"
)

// Homes are the private home directories of workspaces, kept from task to task so that compilers find their caches
// (A-SBX-08):
//
//	<cache root>/home/<name>/       0700; locked while a task uses it
//	<cache root>/home/<name>/tree/  what programs see as HOME
//
// Threat: everything in a tree was written by programs of a sandbox. The host never follows, opens or runs anything of it;
// it is measured and removed by descriptor.
type Homes struct {
	fsys fileop.FS
	dir  *os.File
}

// OpenHomes opens the homes below the cache root, creating it with mode 0700. Errors as Open.
func OpenHomes(fsys fileop.FS, cacheRoot string) (*Homes, error) {
	root, err := openPath(fsys, cacheRoot)
	if err != nil {
		return nil, unusable(cacheRoot, err)
	}
	defer root.Close()
	dir, err := openSub(fsys, root, homesDir)
	if err != nil {
		return nil, unusable(filepath.Join(cacheRoot, homesDir), err)
	}
	return &Homes{fsys: fsys, dir: dir}, nil
}

// Close closes the descriptor; homes in use stay locked.
func (h *Homes) Close() error { return h.dir.Close() }

// HomeName names the home of a workspace by what it is: label is a path for people, identity everything that makes it
// another workspace. A directory that took the place of another gets a home of its own.
func HomeName(label, identity string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, filepath.Base(label))
	sum := sha256.Sum256([]byte(identity))
	return strings.TrimLeft(safe[:min(len(safe), 40)], ".-") + "-" + hex.EncodeToString(sum[:8])
}

// HomePath is the directory that Open locks for a name; removing it as a whole clears the home.
func HomePath(cacheRoot, name string) string { return filepath.Join(cacheRoot, homesDir, name) }

// HomeSize measures a home that may not exist yet.
func HomeSize(cacheRoot, name string) (Size, error) {
	s, err := Measure(filepath.Join(HomePath(cacheRoot, name), homeTree), math.MaxInt64)
	if errors.Is(err, fs.ErrNotExist) {
		return Size{}, nil
	}
	return s, err
}

// Home is one home in use.
type Home struct {
	fsys fileop.FS
	dir  *os.File // locked
}

// Open makes the home of that name if need be and waits until no other task uses it.
func (h *Homes) Open(ctx context.Context, name string) (*Home, error) {
	for {
		dir, err := openSub(h.fsys, h.dir, name)
		if err != nil {
			return nil, unusable(filepath.Join(h.dir.Name(), name), err)
		}
		err = fileop.Lock(ctx, dir)
		if err == nil {
			var still bool
			if still, err = alive(dir); err == nil && !still { // somebody cleared it while we waited
				dir.Close()
				continue
			}
		}
		if err == nil {
			err = makeDir(h.fsys, dir, homeTree)
		}
		if err == nil {
			err = openUpTree(dir, homeTree)
		}
		if err != nil {
			dir.Close()
			return nil, fmt.Errorf("opening the home directory %s: %w", dir.Name(), err)
		}
		return &Home{fsys: h.fsys, dir: dir}, nil
	}
}

// Path is the directory that programs see.
func (h *Home) Path() string { return filepath.Join(h.dir.Name(), homeTree) }

// Empty removes everything in it, in place.
func (h *Home) Empty() error { return emptyTree(h.fsys, h.dir, homeTree) }

// Close lets the next task have it.
func (h *Home) Close() error { return h.dir.Close() }
