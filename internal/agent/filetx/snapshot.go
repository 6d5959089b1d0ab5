package filetx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"strings"

	"sekisho/internal/sandbox/rootio"
)

// maxText is the largest file, in bytes, whose text is patched.
const maxText = 64 << 20

// snapshot is the old file: its digest, and its bytes when they were few enough to read as text.
type snapshot struct {
	info rootio.Info
	sum  string
	data []byte
	// whole tells that data is all of it.
	whole bool
}

// take reads the held file once. It is errChanged when the file changed while it was read, and errExpected when its digest
// is not the expected one ("" expects nothing).
func (m *Manager) take(ctx context.Context, t *rootio.Target, expected string) (snapshot, error) {
	before, err := t.Stat()
	if err != nil {
		return snapshot{}, err
	}
	f, err := t.OpenRead()
	if err != nil {
		return snapshot{}, err
	}
	defer f.Close()
	h := sha256.New()
	s := snapshot{info: before, whole: before.Size <= max(m.deps.MemoryLimit, maxText)}
	r := io.TeeReader(&cancellable{ctx, f}, h)
	if s.whole {
		s.data, err = io.ReadAll(io.LimitReader(r, before.Size+1))
	} else {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return snapshot{}, err
	}
	if err := unchanged(t, before); err != nil {
		return snapshot{}, err
	}
	s.sum = hex.EncodeToString(h.Sum(nil))
	if expected != "" && !strings.EqualFold(expected, s.sum) {
		return snapshot{}, errExpected
	}
	return s, nil
}

// unchanged compares size and time of the held file.
func unchanged(t *rootio.Target, before rootio.Info) error {
	now, err := t.Stat()
	if err != nil {
		return err
	}
	if now.Size != before.Size || !now.ModTime.Equal(before.ModTime) {
		return errChanged
	}
	return nil
}

// keep makes the old bytes safe: in memory up to the limit, else in a file of the instance, which must then have the
// snapshot's digest.
func (m *Manager) keep(ctx context.Context, tx *transaction, t *rootio.Target, s snapshot) error {
	name := tx.entry.Record().Backup
	if name == "" {
		tx.memory = s.data
		if tx.memory == nil {
			tx.memory = []byte{}
		}
		return nil
	}
	from, err := t.OpenRead()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := m.deps.FS.Create(m.deps.Temp, name, 0o600)
	if err != nil {
		return err
	}
	sum, err := copyTo(&cancellable{ctx, from}, func(p []byte) error { return m.deps.FS.Write(to, p) })
	if err == nil {
		err = m.deps.FS.Sync(to)
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	if sum != s.sum {
		return errChanged
	}
	return m.deps.FS.Sync(m.deps.Temp)
}

// backupName is a name for the old bytes, or "" when they fit in memory.
func (m *Manager) backupName(size int64) string {
	if size <= m.deps.MemoryLimit {
		return ""
	}
	return randomName()
}

// copyTo hands r to write in pieces and returns the digest of all of it.
func copyTo(r io.Reader, write func([]byte) error) (sum string, err error) {
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for {
		n, err := r.Read(buf)
		h.Write(buf[:n])
		if n > 0 {
			if err := write(buf[:n]); err != nil {
				return "", err
			}
		}
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// digestOf is the digest of what t holds, "" when nothing is there.
func digestOf(t *rootio.Target) (string, error) {
	if t.Info().Kind != rootio.File {
		return "", nil
	}
	f, err := t.OpenRead()
	if err != nil {
		return "", err
	}
	defer f.Close()
	return copyTo(f, func([]byte) error { return nil })
}

// digestNow is the digest of what the name of t leads to now.
func digestNow(t *rootio.Target) (sum string, kind rootio.Kind, err error) {
	now, err := t.Again()
	if err != nil {
		return "", rootio.Missing, err
	}
	defer now.Close()
	sum, err = digestOf(now)
	return sum, now.Info().Kind, err
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// cancellable ends a long read when its context ends.
type cancellable struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
