//go:build !linux

package proctree

import "errors"

// Descendants is not available on this operating system.
func Descendants(int) ([]ID, error) { return nil, errors.ErrUnsupported }
