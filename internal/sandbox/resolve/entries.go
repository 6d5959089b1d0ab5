package resolve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// VerifyEntry is Entries.Verify without a memory.
func VerifyEntry(ctx context.Context, e sandbox.Entry) (sandbox.FileID, error) {
	return new(Entries).Verify(ctx, e)
}

// Entries verifies approved entries before their starts. It remembers in what state it last read each native one, and does not
// read it again in the same state: this look only tells early, before there is a sandbox, what the exec stop proves anyway, by
// a rule of its own (ADR 23). A script is read each time. It is safe for concurrent use; its zero value remembers nothing yet.
type Entries struct {
	mu   sync.Mutex
	read map[string]glance // by path; there are no more than a policy has entries
}

// glance is the state of a file and what its bytes were.
type glance struct {
	id            sandbox.FileID
	size          int64
	changed, when time.Time // of anything about it, by the file system's clock; of its bytes, as far as nobody set that
	sum           string
}

// freshly is how young a change may be to leave no trace in the times of a file that is changed once more.
const freshly = 2 * time.Second

// Verify confirms, right before a start, that an approved entry still is what was applied, and returns the identity of the
// native program that starts: the entry's own, or the last interpreter's, whose bytes are proven at the exec stop.
// Errors: *fault.Error executable.resolution_changed (gone, a link, another kind), executable.hash_changed; the context's
// cause when ctx ended.
func (v *Entries) Verify(ctx context.Context, e sandbox.Entry) (sandbox.FileID, error) {
	if len(e.Interpreters) == 0 {
		return unchanged(ctx, e.Path, e.SHA256, v.digest)
	}
	id, err := unchanged(ctx, e.Path, e.SHA256, digest)
	for i, in := range e.Interpreters {
		if err != nil {
			break
		}
		hash := digest
		if i == len(e.Interpreters)-1 {
			hash = nil
		}
		id, err = unchanged(ctx, in.Path, in.SHA256, hash)
	}
	return id, err
}

// digest hashes an object, unless its bytes are known of its state.
func (v *Entries) digest(ctx context.Context, o *rootio.Object) (string, error) {
	begun := time.Now()
	before, err := glanceAt(o)
	if err != nil {
		return "", err
	}
	v.mu.Lock()
	known, ok := v.read[o.Path()]
	v.mu.Unlock()
	if ok && known.same(before) {
		return known.sum, nil
	}
	sum, err := digest(ctx, o)
	if err != nil {
		return "", err
	}
	after, err := glanceAt(o)
	if err == nil && after.same(before) && before.changed.Before(begun.Add(-freshly)) {
		before.sum = sum
		v.mu.Lock()
		if v.read == nil {
			v.read = map[string]glance{}
		}
		v.read[o.Path()] = before
		v.mu.Unlock()
	}
	return sum, nil
}

func glanceAt(o *rootio.Object) (glance, error) {
	info, changed, err := o.Now()
	return glance{id: info.ID, size: info.Size, changed: changed, when: info.ModTime}, err
}

func (g glance) same(other glance) bool {
	return g.id == other.id && g.size == other.size && g.changed.Equal(other.changed) && g.when.Equal(other.when)
}

// digest hashes the bytes of an object.
func digest(ctx context.Context, o *rootio.Object) (string, error) {
	f, err := o.Reader()
	if err != nil {
		return "", err
	}
	defer f.Close()
	return HashFile(ctx, f)
}

// unchanged confirms that the executable at path, which is a resolved one, is still there and, unless hash is nil, has the digest.
func unchanged(ctx context.Context, path, sum string, hash func(context.Context, *rootio.Object) (string, error)) (sandbox.FileID, error) {
	o, err := openExecutable(path)
	now, got := "", sum
	if err == nil {
		defer o.Close()
		now = o.Path()
		if hash != nil {
			got, err = hash(ctx, o)
		}
	}
	switch {
	case ctx.Err() != nil:
		return sandbox.FileID{}, context.Cause(ctx)
	case errors.Is(err, ErrTooLarge):
		return sandbox.FileID{}, fault.New(fault.ExecutableHashChanged, fault.Target(path), fault.Cause(err))
	case fault.CodeOf(err) == fault.PreflightUnsupportedOS:
		return sandbox.FileID{}, err
	case err != nil || now != path:
		return sandbox.FileID{}, fault.New(fault.ExecutableResolutionChanged, fault.Target(path), fault.Cause(err))
	case got != sum:
		return sandbox.FileID{}, fault.New(fault.ExecutableHashChanged, fault.Target(path), fault.Cause(fmt.Errorf("SHA-256 is %s, approved was %s", got, sum)))
	}
	return o.Info().ID, nil
}
