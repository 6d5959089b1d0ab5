package web

import (
	"context"
	"log/slog"
)

// fixed replaces the text of every record: what net/http reports may quote the request.
type fixed struct{ next slog.Handler }

func (f fixed) Enabled(ctx context.Context, l slog.Level) bool { return f.next.Enabled(ctx, l) }

func (f fixed) Handle(ctx context.Context, r slog.Record) error {
	return f.next.Handle(ctx, slog.NewRecord(r.Time, r.Level, "the HTTP server reported an error", 0))
}

func (f fixed) WithAttrs([]slog.Attr) slog.Handler { return f }
func (f fixed) WithGroup(string) slog.Handler      { return f }
