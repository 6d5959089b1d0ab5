package rpc

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"sekisho/internal/relay"
)

// late holds the log up until the handler has heard of the end.
type late struct {
	slog.Handler
	heard chan struct{}
}

func (l late) Enabled(context.Context, slog.Level) bool { return true }

func (l late) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "connection ended" {
		<-l.heard
	}
	return nil
}

func (l late) WithAttrs([]slog.Attr) slog.Handler { return l }

type ending struct {
	*record
	client *Client
	heard  chan struct{}
	done   bool
}

func (e *ending) Ended(relay.Generation, error) {
	select {
	case <-e.client.Done():
		e.done = true
	default:
	}
	close(e.heard)
}

// proves R-CONN-02: the generation is done before its handler hears of the end, however slow the log is.
func TestDoneBeforeTheHandlerHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, e := newWire(), &ending{record: newRecord(), heard: make(chan struct{})}
		e.client = New(w, Options{Generation: 1, Handler: e, Log: slog.New(late{slog.DiscardHandler, e.heard})})
		synctest.Wait()
		w.finish(lostErr())
		e.client.Wait()
		if !e.done {
			t.Error("the handler heard of the end before the generation was done")
		}
		e.client.Close("")
	})
}
