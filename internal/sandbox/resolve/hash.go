package resolve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxHashed is the size in bytes of the largest program. A sparse file costs nothing to make and hours to read.
const MaxHashed = 4 << 30

// ErrTooLarge tells that a file is larger than MaxHashed.
var ErrTooLarge = errors.New("larger than 4 GiB")

// HashFile returns the SHA-256 of the whole file as lower-case hex, independent of the file's offset. Errors: ErrTooLarge,
// the context's cause soon after ctx has ended.
func HashFile(ctx context.Context, f *os.File) (string, error) {
	info, err := f.Stat()
	if err == nil && info.Size() > MaxHashed {
		err = ErrTooLarge
	}
	if err != nil {
		return "", fmt.Errorf("hashing %s: %w", f.Name(), err)
	}
	h := sha256.New()
	buf := make([]byte, min(1<<20, info.Size()+1)) // one more, so that the first read sees the end
	for at := int64(0); ; {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		n, err := f.ReadAt(buf, at)
		h.Write(buf[:n])
		switch at += int64(n); {
		case at > MaxHashed: // it grows while it is read
			return "", fmt.Errorf("hashing %s: %w", f.Name(), ErrTooLarge)
		case errors.Is(err, io.EOF):
			return hex.EncodeToString(h.Sum(nil)), nil
		case err != nil:
			return "", fmt.Errorf("hashing %s: %w", f.Name(), err)
		}
	}
}
