package lifecycle

import (
	"context"
	"log/slog"
	"strings"
)

// tidy is a log handler that leaves out what says nothing: empty attributes (a stdio client has no session name, yet the MCP
// library logs one) and a code that the error beside it begins with.
type tidy struct{ slog.Handler }

// Handle implements slog.Handler.
func (t tidy) Handle(ctx context.Context, r slog.Record) error {
	failure := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			failure = a.Value.String()
		}
		return true
	})
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		repeats := a.Key == "code" && strings.HasPrefix(failure, a.Value.String())
		if !repeats && !empty(a) {
			out.AddAttrs(a)
		}
		return true
	})
	return t.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (t tidy) WithAttrs(attrs []slog.Attr) slog.Handler {
	var kept []slog.Attr
	for _, a := range attrs {
		if !empty(a) {
			kept = append(kept, a)
		}
	}
	return tidy{t.Handler.WithAttrs(kept)}
}

// WithGroup implements slog.Handler.
func (t tidy) WithGroup(name string) slog.Handler { return tidy{t.Handler.WithGroup(name)} }

func empty(a slog.Attr) bool {
	v := a.Value.Resolve()
	return v.Kind() == slog.KindString && v.String() == "" || v.Kind() == slog.KindAny && v.Any() == nil
}
