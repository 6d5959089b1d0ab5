package worker

import (
	"context"
	"time"

	"sekisho/internal/relay"
	"sekisho/internal/relay/uicontract"
)

// startHere is a snapshot with its place in the log; the lock is held.
func (w *Worker) startHere(reason uicontract.SnapshotReason) (uicontract.Start, error) {
	// What waits goes to the others first: the snapshot has it too, and its place is after it.
	if err := w.events.seal(w.o.Now()); err != nil {
		return uicontract.Start{}, err
	}
	return uicontract.Start{ID: w.events.id(w.events.next() - 1), Snapshot: w.snapshot(reason)}, nil
}

// openWithin is how long a snapshot waits for the thread that was asked for with it: a front end that shows it at once is
// worth a moment, and one that shows nothing is not.
const openWithin = 150 * time.Millisecond

// readSnapshot is the first answer that a front end gets.
func (w *Worker) readSnapshot(ctx context.Context, p *uicontract.SnapshotRead) (any, error) {
	if p.Thread != "" {
		w.openSoon(ctx, p.Thread)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.startHere(uicontract.SnapshotNew)
}

// openSoon opens a thread that is not open, and waits for it for a moment.
func (w *Worker) openSoon(ctx context.Context, id relay.ThreadID) {
	done := make(chan struct{})
	w.mu.Lock()
	s, err := w.session()
	if err != nil || w.part.threads[id] != nil && w.part.threads[id].open || w.closing {
		w.mu.Unlock()
		return
	}
	w.spawn(func() {
		defer close(done)
		// Whoever asked for it asks again when it does not come, and is told why.
		if err := s.open(s.ctx, id); err != nil {
			s.log.Info("a thread of a page's address did not open", "err", codeOf(err))
		}
	})
	w.mu.Unlock()
	timer := time.NewTimer(openWithin)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}
