//go:build linux

package filter

// Landlock restricts the calling thread, which must be locked, to rules for the rest of its life: everything that the
// kernel's Landlock knows is handled and denied unless granted. It needs ABI 3 or newer and never tries with less; the
// failure is fault.PreflightMissingPrimitive, variant landlock.
func Landlock(rules []PathRule) error { panic("skeleton") }

// LandlockABI returns the kernel's Landlock ABI version, or 0 with the reason.
func LandlockABI() (int, error) { panic("skeleton") }
