package transport

import (
	"context"
	"errors"

	"sekisho/internal/fault"
)

// Class is what recovery needs to know about a failure (R-REC-01).
type Class string

// The classes. Only Transient loss is recovered automatically.
const (
	Transient Class = "transient" // process exit, refused or broken connection, silence, unexpected close
	Auth      Class = "auth"      // 401, 403, or a close that says so
	TLS       Class = "tls"       // the server could not be authenticated
	Config    Class = "config"    // endpoint, token file, CA file, program or limits: trying again changes nothing
	Cancelled Class = "cancelled" // this side ended it
)

// Error is a coded failure with its class. Its text never holds a token or what was sent.
type Error struct {
	Class Class
	Fault *fault.Error
}

// Error is the form for logs.
func (e *Error) Error() string { return e.Fault.Error() }

// Unwrap returns the coded failure.
func (e *Error) Unwrap() error { return e.Fault }

// ClassOf returns the class of the first *Error in err's chain. An ended context is Cancelled, anything else unknown is
// Config: what nobody classified is not tried again.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Cancelled
	}
	return Config
}

func fail(class Class, code fault.Code, opts ...fault.Option) *Error {
	return &Error{Class: class, Fault: fault.New(code, opts...)}
}
