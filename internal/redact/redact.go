// Package redact holds values that must never be printed, logged or serialized.
package redact

import "log/slog"

const mask = "[redacted]"

// Secret is a string that shows itself only to Reveal. Every formatting and encoding path yields "[redacted]".
type Secret struct{ value string }

// New wraps s.
func New(s string) Secret { return Secret{value: s} }

// Reveal returns the value for the one place that sends it.
func (s Secret) Reveal() string { return s.value }

// Empty reports whether there is no value.
func (s Secret) Empty() bool { return s.value == "" }

// String implements fmt.Stringer without revealing.
func (Secret) String() string { return mask }

// GoString implements fmt.GoStringer without revealing.
func (Secret) GoString() string { return mask }

// MarshalText implements encoding.TextMarshaler without revealing (JSON and YAML use it).
func (Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }

// LogValue implements slog.LogValuer without revealing.
func (Secret) LogValue() slog.Value { return slog.StringValue(mask) }
