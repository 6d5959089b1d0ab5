// Package atomicfile replaces a small file as a whole: readers see the old bytes or the new ones, also after a crash.
package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"sekisho/internal/fileop"
)

const tempSuffix = ".tmp"

// Write makes name in dir hold exactly data with permission perm: a new file beside it is written and synced, renamed
// over name, and dir is synced. On an error name still holds its old bytes.
func Write(fsys fileop.FS, dir *os.File, name string, data []byte, perm fs.FileMode) (err error) {
	if err := fileop.CheckName(name); err != nil {
		return err
	}
	temp := "." + name + "." + randomName() + tempSuffix
	f, err := fsys.Create(dir, temp, perm)
	if err != nil {
		return fmt.Errorf("replacing %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			err = errors.Join(fmt.Errorf("replacing %s: %w", name, err), ignoreMissing(fsys.Unlink(dir, temp)))
		}
	}()
	if err := fsys.Write(f, data); err != nil {
		return err
	}
	if err := fsys.Sync(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := fsys.Rename(dir, temp, dir, name, true); err != nil {
		return err
	}
	return fsys.Sync(dir)
}

// Remove unlinks name and syncs dir. A missing name is no error.
func Remove(fsys fileop.FS, dir *os.File, name string) error {
	if err := ignoreMissing(fsys.Unlink(dir, name)); err != nil {
		return err
	}
	return fsys.Sync(dir)
}

// Sweep unlinks what interrupted calls of Write left in dir. The caller holds the directory's lock.
func Sweep(fsys fileop.FS, dir *os.File) error {
	d, err := os.Open(dir.Name())
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		if strings.HasPrefix(n, ".") && strings.HasSuffix(n, tempSuffix) {
			if err := ignoreMissing(fsys.Unlink(dir, n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Open opens the regular file path to read; links are followed. It never waits: a FIFO, a device or a directory is an error.
func Open(path string) (*os.File, error) { return open(path, noWait) }

func open(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|flags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read returns the content of the regular file path, at most limit bytes; a larger file is an error, and so is a link.
func Read(path string, limit int) ([]byte, error) {
	f, err := open(path, noWait|noFollow)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return data, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func randomName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand documentation)
	return hex.EncodeToString(b[:])
}
