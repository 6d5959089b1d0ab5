package resolve

import (
	"context"
	"errors"
	"os"
	"testing"

	"sekisho/internal/sandbox"
)

func sparse(t *testing.T, size int64) string {
	t.Helper()
	name := tempDir(t) + "/big"
	must(t, os.WriteFile(name, []byte("\x7fELF"), 0o755))
	must(t, os.Truncate(name, size))
	return name
}

// What is too large is refused before it is read; what is not ends with its context.
//
// proves A-POL-04, A-STOP-01
func TestHashingHasAnEnd(t *testing.T) {
	stop := errors.New("stopped")
	ended, end := context.WithCancelCause(t.Context())
	end(stop)
	for _, c := range []struct {
		size int64
		ctx  context.Context
		want error
	}{{4 << 40, t.Context(), ErrTooLarge}, {MaxHashed + 1, t.Context(), ErrTooLarge}, {MaxHashed, ended, stop}, {4, ended, stop}} {
		name := sparse(t, c.size)
		f, err := os.Open(name)
		must(t, err)
		if _, err := HashFile(c.ctx, f); !errors.Is(err, c.want) {
			t.Errorf("%d bytes: %v, want %v", c.size, err, c.want)
		}
		must(t, f.Close())
		_, err = VerifyEntry(c.ctx, sandbox.Entry{Path: name})
		if c.want == stop && !errors.Is(err, stop) || c.want != stop && word(err) != "executable.hash_changed" {
			t.Errorf("%d bytes, entry: %v", c.size, err)
		}
	}
	if _, err := Executable(sparse(t, 4<<40)); word(err) != "sandbox.resolution_unconfirmed" {
		t.Errorf("applying: %v", err)
	}
}
