package rootio

import "sekisho/internal/fault"

func denied(variant, path string) error {
	return fault.New(fault.PolicyDenied, fault.Variant(variant), fault.Target(path))
}

func changed(path string, cause error) error {
	return fault.New(fault.SandboxResolutionChanged, fault.Target(path), fault.Cause(cause))
}

func unconfirmed(path string, cause error) error {
	return fault.New(fault.SandboxResolutionUnconfirmed, fault.Target(path), fault.Cause(cause))
}
