package filetx

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"sekisho/internal/fault"
	"sekisho/internal/sandbox/rootio"
)

// failed turns what went wrong with path into a coded error; a coded one stays what it is.
func failed(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case fault.As(err) != nil:
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.AgentCancelled, fault.Cause(err))
	case errors.Is(err, syscall.ENOTEMPTY): // before ErrExist, which it also is
		return fault.New(fault.ToolArgumentsInvalid, fault.Variant("directory_not_empty"), fault.Target(path), fault.Cause(err))
	}
	opts := []fault.Option{fault.Target(path), fault.Cause(err)}
	for _, c := range []struct {
		err     error
		variant string
	}{
		{rootio.ErrSwapped, "swapped"}, {errChanged, "swapped"}, {errMalformed, "patch_malformed"}, {errNoMatch, "patch_no_match"}, {errAmbiguous, "patch_ambiguous"},
		{errEncoding, "encoding"}, {errExpected, "hash_mismatch"}, {errTooLarge, "too_large"},
		{fs.ErrExist, "target_exists"}, {fs.ErrNotExist, "not_found"}, {syscall.EXDEV, "cross_volume"}, {syscall.ENOTDIR, "not_directory"}, {syscall.EISDIR, "is_directory"},
		{fs.ErrPermission, "access"}, {syscall.EROFS, "access"}, {syscall.EBUSY, "access"},
	} {
		if errors.Is(err, c.err) {
			opts = append(opts, fault.Variant(c.variant))
			break
		}
	}
	return fault.New(fault.ToolFailed, opts...)
}

var (
	errChanged  = errors.New("the file changed while it was edited")
	errExpected = errors.New("expected_sha256 is not the file's SHA-256")
	errTooLarge = errors.New("the file is larger than what is edited as text")
)

// unrestored is the failure that stops the server: the record is kept, the next start tries again.
func unrestored(path string, err error) error {
	return fault.New(fault.RecoveryFailed, fault.Target(path), fault.Cause(err))
}
