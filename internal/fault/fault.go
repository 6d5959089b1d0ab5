// Package fault is the one vocabulary of failures that cross a boundary.
//
// A failure that a person, an MCP client or an audit reader will see is a *Error: a stable Code, the Category that
// decides how the agent task reacts (A-ERR-02), locale keys with arguments for the sentence and the remedy, and the
// wrapped cause for the log. Packages below the boundary may return plain errors; the first place that knows which
// code it is turns them into an Error, and nobody above replaces it (A-ERR-01).
package fault

import (
	"errors"
	"fmt"
	"maps"
)

// Category groups codes by their effect on the agent task (A-ERR-02).
type Category string

// The categories of A-ERR-02.
const (
	Validation      Category = "validation"
	PolicyDeny      Category = "policy_denied"
	OllamaTransient Category = "ollama_transient"
	OllamaPermanent Category = "ollama_permanent"
	ToolFailure     Category = "tool_failure"
	ResourceLimit   Category = "resource_limit"
	RecoveryFailure Category = "recovery_failure"
	// Internal marks what the specification's table does not list: a failure of this program itself.
	Internal Category = "internal"
)

// Error is a coded, localizable failure.
type Error struct {
	Code Code
	// Variant selects a more exact sentence of the same code: locale keys error.<code>.<variant> and
	// remedy.<code>.<variant>. Empty means error.<code> and remedy.<code>. The catalogue lists every variant.
	Variant string
	// Args fill the placeholders of both sentences. Values are shown to people: paths, names, numbers, never secrets.
	Args map[string]string
	// Target names the thing the failure is about (a path, an endpoint, a key), for audit and log.
	Target string
	// Err is the cause, for the log only; it is never shown to an MCP client.
	Err error
}

// Option changes an Error under construction.
type Option func(*Error)

// New returns an Error with the given code. It panics if the code, or the variant chosen by an option, is not in the
// catalogue: an unlisted code is a programming error that the tests of every caller would hit.
func New(code Code, opts ...Option) *Error {
	e := &Error{Code: code}
	for _, o := range opts {
		o(e)
	}
	info, ok := catalogue[code]
	if !ok {
		panic("fault: code not in catalogue: " + string(code))
	}
	if e.Variant != "" && !info.has(e.Variant) {
		panic("fault: variant not in catalogue: " + string(code) + "." + e.Variant)
	}
	return e
}

// Arg fills one placeholder of the sentences.
func Arg(name string, value any) Option {
	return func(e *Error) {
		if e.Args == nil {
			e.Args = map[string]string{}
		}
		e.Args[name] = fmt.Sprint(value)
	}
}

// Target names what the failure is about and fills the placeholder {target}.
func Target(t string) Option {
	return func(e *Error) {
		e.Target = t
		Arg("target", t)(e)
	}
}

// Variant selects a more exact sentence; see Error.Variant.
func Variant(v string) Option { return func(e *Error) { e.Variant = v } }

// Cause attaches the underlying error for the log.
func Cause(err error) Option { return func(e *Error) { e.Err = err } }

// Error is the form for logs: code, variant, target and cause. People see the localized sentence instead.
func (e *Error) Error() string {
	s := string(e.Code)
	if e.Variant != "" {
		s += "." + e.Variant
	}
	if e.Target != "" {
		s += ": " + e.Target
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Category is the catalogue's category of the code.
func (e *Error) Category() Category { return catalogue[e.Code].Category }

// SentenceKey and RemedyKey are the locale keys of the two sentences.
func (e *Error) SentenceKey() string { return "error." + e.suffix() }

// RemedyKey is the locale key of the sentence that says what to do.
func (e *Error) RemedyKey() string { return "remedy." + e.suffix() }

func (e *Error) suffix() string {
	if e.Variant != "" {
		return string(e.Code) + "." + e.Variant
	}
	return string(e.Code)
}

// Is makes errors.Is(err, fault.New(code)) match on the code alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Variant == "" || t.Variant == e.Variant)
}

// With returns a copy of e with further options applied.
func (e *Error) With(opts ...Option) *Error {
	c := *e
	c.Args = maps.Clone(e.Args)
	for _, o := range opts {
		o(&c)
	}
	return &c
}

// As finds the first *Error in err's chain, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// CodeOf returns the code of the first *Error in err's chain, or "".
func CodeOf(err error) Code {
	if e := As(err); e != nil {
		return e.Code
	}
	return ""
}
