package transport

import (
	"context"
	"errors"
	"sync"

	"sekisho/internal/fault"
	"sekisho/internal/visible"
)

// Class is what recovery needs to know about a failure (R-REC-01).
type Class string

// The classes. Only Transient loss is recovered automatically.
const (
	Transient Class = "transient" // process exit, refused or broken connection, silence, unexpected close
	Auth      Class = "auth"      // 401, 403, or a close that says so
	TLS       Class = "tls"       // the server could not be authenticated
	Config    Class = "config"    // endpoint, token file, CA file, program, limits, broken protocol: trying again changes nothing
	Cancelled Class = "cancelled" // this side ended it
)

// Error is a coded failure with its class. Its text never holds a token, what was sent, or words of the server.
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

func cancelled(cause error) *Error {
	return fail(Cancelled, fault.ConnectionClosed, fault.Cause(cause))
}

func lost(variant string, opts ...fault.Option) *Error {
	return fail(Transient, fault.ConnectionLost, append(opts, fault.Variant(variant))...)
}

// short bounds text before it enters a sentence.
func short(s string) string { return visible.Line(s, 300) }

// ending remembers why a connection ended: the first reason is the reason, whatever breaks afterwards because of it.
type ending struct {
	mu   sync.Mutex
	err  *Error
	over chan struct{}
}

func newEnding() *ending { return &ending{over: make(chan struct{})} }

// as sets the reason unless there is one, and returns the one that counts.
func (e *ending) as(err *Error) *Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = err
		close(e.over)
	}
	return e.err
}

// reason is why it ended, or nil.
func (e *ending) reason() *Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// leftOver is the cause when a child's process could not be ended.
var leftOver = fault.Cause(errors.New("a process of the child is left"))
