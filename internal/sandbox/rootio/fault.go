package rootio

import (
	"errors"
	"io/fs"
	"syscall"

	"sekisho/internal/fault"
)

func denied(variant, path string) error {
	return fault.New(fault.PolicyDenied, fault.Variant(variant), fault.Target(path))
}

func changed(path string, cause error) error {
	return fault.New(fault.SandboxResolutionChanged, fault.Target(path), fault.Cause(cause))
}

func unconfirmed(path string, cause error) error {
	opts := []fault.Option{fault.Target(path), fault.Cause(cause)}
	switch {
	case errors.Is(cause, fs.ErrNotExist):
		opts = append(opts, fault.Variant("missing"))
	case errors.Is(cause, syscall.ELOOP):
		opts = append(opts, fault.Variant("cycle"))
	}
	return fault.New(fault.SandboxResolutionUnconfirmed, opts...)
}
