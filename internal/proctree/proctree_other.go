//go:build !linux

package proctree

import (
	"context"
	"errors"
)

// Identify is not available on this operating system.
func Identify(int) (ID, error) { return ID{}, errors.ErrUnsupported }

// Kill is not available on this operating system.
func Kill(ID) error { return errors.ErrUnsupported }

// Parent is not available on this operating system.
func Parent() (<-chan struct{}, func(), error) { return nil, nil, errors.ErrUnsupported }

// Wait is not available on this operating system.
func Wait(context.Context, ID) error { return errors.ErrUnsupported }
