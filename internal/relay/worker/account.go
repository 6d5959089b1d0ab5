package worker

import (
	"context"
	"errors"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/rpc"
	"sekisho/internal/relay/transport"
	"sekisho/internal/relay/uicontract"
)

// Reading the account tells whose server it is; a notice that it may have changed makes that doubtful. In doubt nothing is
// sent for the owner, and only a reading that no notice overtook ends the doubt (R-PRI-05, R-OWN-02).

// maxAccountReads is how often the account is read for one connection while notices overtake the answers.
const maxAccountReads = 8

// maxBackground is how many reads that nobody asked for are under way at a time; the other places for calls stay free for
// what a person does.
const maxBackground = 8

// Why an owner does not stand.
var (
	errOwner     = errors.New("the account changed")
	errOvertaken = errors.New("a notice of another account overtook the answer")
)

func (s *session) readAccount(ctx context.Context) (codex.AccountReadResult, error) {
	var account codex.AccountReadResult
	_, err := s.client.Call(ctx, codex.AccountRead, codex.AccountReadParams{}, &account, rpc.CallOptions{})
	return account, err
}

// settleOwner finds out whose server it is and makes s the live session.
func (s *session) settleOwner(ctx context.Context) error {
	for range maxAccountReads {
		heard := s.noticesHeard()
		account, err := s.readAccount(ctx)
		if err != nil {
			return err
		}
		if err := s.goLive(account, heard); !errors.Is(err, errOvertaken) {
			return err
		}
	}
	return unconfirmed(errOvertaken)
}

func (s *session) noticesHeard() uint64 {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.accountNotices
}

func unconfirmed(err error) error {
	return fault.New(fault.RelayOwnerChanged, fault.Variant("unconfirmed"), fault.Cause(err))
}

// doubtOwner takes in that the account may be another one now; the lock is held. From here on nothing is sent for the
// owner. However many notices come, one reading is under way and one more follows it.
func (s *session) doubtOwner() {
	s.accountNotices++
	if s.w.live != s {
		return // goLive compares the count
	}
	s.doubtful = true
	if !s.confirming {
		s.confirming = true
		s.w.spawn(s.confirmOwner)
	}
}

// confirmOwner reads the account until no notice overtakes the answer. Another owner ends everything of this one, and a
// person reconnects (R-OWN-02). No answer ends the connection too: nobody can tell for whom it would be used.
func (s *session) confirmOwner() {
	w := s.w
	for {
		heard := s.noticesHeard()
		account, err := s.readAccount(s.ctx)
		var now relay.Owner
		if err == nil {
			now, _, err = ownerOf(s.profile, account)
		}
		w.mu.Lock()
		switch {
		case w.live != s:
			w.mu.Unlock()
			return
		case err != nil:
			s.log.Warn("the account could not be read", "err", codeOf(err))
			s.invalid = unconfirmed(err)
			w.mu.Unlock()
			s.client.Close(transport.ByUser)
			return
		case now != s.part.owner:
			s.ownerGone()
			return
		case s.accountNotices == heard:
			s.doubtful, s.confirming = false, false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
	}
}

// ownerGone drops everything of the owner; it is called with the lock held and gives it back.
func (s *session) ownerGone() {
	w := s.w
	s.invalid = fault.New(fault.RelayOwnerChanged, fault.Cause(errOwner))
	gone := s.part.owner
	w.forgetOwner()
	w.live = nil
	w.setConnection(w.describe(uicontract.AwaitManual, s.invalid))
	w.mu.Unlock()
	w.asks.EndGeneration(s.gen)
	w.asks.EndOwner(gone)
	s.client.Close(transport.ByUser)
}

// forgetOwner drops the state of the present owner and what front ends could still get of it; the lock is held.
func (w *Worker) forgetOwner() {
	w.part = nil
	w.notices = nil
	w.events.forget()
	w.ops.forget(w.result(uicontract.Command{}, nil, refused("owner")))
}

// owned refuses a command that was given for another owner than the present one; the lock is held, and what the command
// does is done under it.
func (w *Worker) owned(c uicontract.Command) error {
	switch {
	case w.part == nil:
		return refused("not_connected")
	case c.Owner != w.part.epoch:
		return refused("owner")
	}
	return nil
}

// sessionFor returns the live session of the owner that a command was given for; the lock is held.
func (w *Worker) sessionFor(c uicontract.Command) (*session, error) {
	s, err := w.session()
	if err == nil {
		err = w.owned(c)
	}
	return s, err
}

func (w *Worker) connectedAs() uicontract.ConnectedAs {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.part == nil {
		return uicontract.ConnectedAs{}
	}
	return uicontract.ConnectedAs{Owner: w.part.epoch}
}

// shown is the owner, as far as it may be shown.
func (p *partition) shown() *uicontract.Owner {
	return &uicontract.Owner{Epoch: p.epoch, Profile: p.owner.Profile, Account: p.label, Root: p.owner.Root}
}

// certain refuses what would be sent for an owner in doubt; the lock is held.
func (s *session) certain() error {
	switch {
	case s.w.live != s:
		return refused("not_connected")
	case s.doubtful:
		return refused("unconfirmed")
	}
	return nil
}

// resyncSoon reads an open thread again in the background; the lock is held. However often that is wanted, one reading of
// a thread is under way and one more follows it.
func (s *session) resyncSoon(id relay.ThreadID) {
	if _, running := s.reads[id]; running {
		s.reads[id] = true
		return
	}
	s.reads[id] = false
	s.w.spawn(func() {
		for more := true; more; more = s.readMore(id) {
			select {
			case s.background <- struct{}{}:
			case <-s.ctx.Done():
				return
			}
			s.resync(id)
			<-s.background
		}
	})
}

// readMore tells whether a thread is to be read once more, and forgets it if not.
func (s *session) readMore(id relay.ThreadID) bool {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.reads[id] && s.ctx.Err() == nil {
		s.reads[id] = false
		return true
	}
	delete(s.reads, id)
	return false
}
