package mcpserver

import (
	"context"
	"log/slog"
)

// sdkLog is the SDK's logger. What it tells on the level info are its own steps, several for each request over HTTP: details.
func sdkLog(l *slog.Logger) *slog.Logger {
	return slog.New(details{l.With("component", "mcp").Handler()})
}

// details is a handler for which info is debug.
type details struct{ slog.Handler }

// Enabled implements slog.Handler.
func (d details) Enabled(ctx context.Context, l slog.Level) bool {
	return d.Handler.Enabled(ctx, detail(l))
}

// Handle implements slog.Handler.
func (d details) Handle(ctx context.Context, r slog.Record) error {
	r.Level = detail(r.Level)
	return d.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (d details) WithAttrs(attrs []slog.Attr) slog.Handler {
	return details{d.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (d details) WithGroup(name string) slog.Handler { return details{d.Handler.WithGroup(name)} }

func detail(l slog.Level) slog.Level {
	if l == slog.LevelInfo {
		return slog.LevelDebug
	}
	return l
}
