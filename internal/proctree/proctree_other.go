//go:build !linux

package proctree

import "errors"

// Parent is not available on this operating system.
func Parent() (gone <-chan struct{}, stop func(), err error) { return nil, nil, errors.ErrUnsupported }
