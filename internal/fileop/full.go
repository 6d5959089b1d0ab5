package fileop

import (
	"errors"
	"syscall"
)

// Full reports whether err says that the device has no room, or that a quota is used up.
func Full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
