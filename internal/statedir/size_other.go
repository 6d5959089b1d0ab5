//go:build !linux

package statedir

import "errors"

// measure has nothing to measure where no task ever runs.
func measure(string, int64) (Size, error) { return Size{}, errors.ErrUnsupported }

// Device tells nothing where no task ever runs.
func Device(string) (uint64, error) { return 0, errors.ErrUnsupported }
