package worker

import (
	"context"
	"crypto/sha256"

	"sekisho/internal/fault"
	"sekisho/internal/relay"
	"sekisho/internal/relay/uicontract"
)

// maxOperations is how many results are kept for a front end that asks again.
const maxOperations = 4096

// operations remembers the commands that do something, so that one that arrives twice is executed once.
type operations struct {
	byID  map[relay.OperationID]*operation
	order []relay.OperationID
}

type operation struct {
	kind   uicontract.CommandKind
	params [sha256.Size]byte
	done   chan struct{}
	result uicontract.Result
}

// begin finds or makes the operation of c. ok is false when the id belongs to another command.
func (o *operations) begin(c uicontract.Command) (op *operation, first, ok bool) {
	sum := sha256.Sum256(c.Params)
	if op := o.byID[c.Operation]; op != nil {
		return op, false, op.kind == c.Kind && op.params == sum
	}
	if o.byID == nil {
		o.byID = map[relay.OperationID]*operation{}
	}
	op = &operation{kind: c.Kind, params: sum, done: make(chan struct{})}
	o.byID[c.Operation] = op
	o.order = append(o.order, c.Operation)
	for len(o.order) > maxOperations {
		// Mutations are known to the ledger too, which never forgets an id.
		delete(o.byID, o.order[0])
		o.order = o.order[1:]
	}
	return op, true, true
}

// forget drops the results of commands about an owner that is gone; the lock is held. Their ids stay taken: none of them
// is executed again, and none tells the next owner what became of it.
func (o *operations) forget(gone uicontract.Result) {
	for id, op := range o.byID {
		switch op.kind {
		case uicontract.CmdConnect, uicontract.CmdReconnect, uicontract.CmdDisconnect:
			continue
		}
		done := make(chan struct{})
		close(done)
		gone.Operation = id
		o.byID[id] = &operation{kind: op.kind, params: op.params, done: done, result: gone}
	}
}

// reads are commands without an effect, whose results may be large: they are executed as often as they are asked for.
var reads = map[uicontract.CommandKind]bool{uicontract.CmdWindowRead: true, uicontract.CmdItemRead: true, uicontract.CmdSearch: true, uicontract.CmdProbe: true,
	uicontract.CmdSnapshot: true}

// Execute carries out one command and returns when its result is definite.
func (w *Worker) Execute(ctx context.Context, c uicontract.Command, params any) uicontract.Result {
	if reads[c.Kind] {
		return w.run(ctx, c, params)
	}
	w.mu.Lock()
	op, first, ok := w.ops.begin(c)
	w.mu.Unlock()
	switch {
	case !ok:
		return w.result(c, nil, refused("operation"))
	case first:
		defer close(op.done)
		// This stands if the command is given up by a panic.
		op.result = w.result(c, nil, fault.New(fault.RelayInternal, fault.Arg("detail", "the command was not finished")))
		op.result = w.run(ctx, c, params)
		return op.result
	}
	select {
	case <-op.done:
		return op.result
	case <-ctx.Done():
		return w.result(c, nil, refused("stopping"))
	}
}

// run dispatches on the type of the parameters, which DecodeCommand chose by the kind.
func (w *Worker) run(ctx context.Context, c uicontract.Command, params any) uicontract.Result {
	var value any
	var err error
	switch p := params.(type) {
	case *uicontract.Connect:
		if err = w.connect(ctx, p); err == nil {
			value = w.connectedAs()
		}
	case *uicontract.SnapshotRead:
		value, err = w.readSnapshot(ctx, p)
	case *uicontract.ThreadList:
		err = w.listThreads(ctx, p)
	case *uicontract.ThreadStart:
		value, err = w.startThread(ctx, c, p)
	case *uicontract.ThreadRef:
		value, err = w.onThread(ctx, c, p.Thread)
	case *uicontract.WindowRead:
		value, err = w.readWindow(p)
	case *uicontract.ItemRef:
		value, err = w.readItem(p)
	case *uicontract.Search:
		value, err = w.search(p)
	case *uicontract.TurnSend:
		value, err = w.sendTurn(ctx, c, p)
	case *uicontract.TurnRef:
		err = w.interrupt(ctx, c, p)
	case *uicontract.Answer:
		value, err = w.answer(ctx, c, p)
	case *uicontract.Draft:
		err = w.setDraft(c, p)
	case *uicontract.None:
		value, err = w.plain(ctx, c.Kind)
	default:
		err = refused("operation")
	}
	return w.result(c, value, err)
}

func (w *Worker) onThread(ctx context.Context, c uicontract.Command, id relay.ThreadID) (any, error) {
	switch c.Kind {
	case uicontract.CmdThreadOpen:
		return uicontract.ThreadRef{Thread: id}, w.openThread(ctx, id)
	case uicontract.CmdThreadJoin:
		return uicontract.ThreadRef{Thread: id}, w.joinThread(ctx, c, id)
	case uicontract.CmdThreadClose:
		return nil, w.closeThread(id)
	case uicontract.CmdThreadOlder:
		return w.older(ctx, id)
	}
	return nil, w.syncThread(ctx, id)
}

func (w *Worker) plain(ctx context.Context, kind uicontract.CommandKind) (any, error) {
	switch kind {
	case uicontract.CmdReconnect:
		if err := w.reconnect(ctx); err != nil {
			return nil, err
		}
		return w.connectedAs(), nil
	case uicontract.CmdDisconnect:
		return nil, w.disconnect(ctx)
	case uicontract.CmdProbe:
		return w.probe(ctx)
	}
	return nil, w.readModels(ctx)
}

// result is what a front end is told: an error decides the status by its code, and nothing else does.
func (w *Worker) result(c uicontract.Command, value any, err error) uicontract.Result {
	r := uicontract.Result{Version: uicontract.Version, Operation: c.Operation, Status: uicontract.Done}
	if err != nil {
		problem := w.explain(err)
		r.Status, r.Problem = statusOf(err), &problem
		return r
	}
	if value == nil {
		value = uicontract.None{}
	}
	data, err := uicontract.Encode(value)
	if err != nil {
		return w.result(c, nil, fault.New(fault.RelayInternal, fault.Arg("detail", "encoding a result"), fault.Cause(err)))
	}
	r.Value = data
	return r
}

func statusOf(err error) uicontract.Status {
	switch fault.CodeOf(err) {
	case fault.CallOutcomeUnknown:
		return uicontract.Unknown
	case fault.RelayCommand, fault.CallNotSent, fault.RequestGone, fault.AnswerInvalid, fault.ConnectionOutboundTooLarge:
		return uicontract.Refused
	}
	return uicontract.Failed
}

// refused is a command that was not carried out; nothing was sent.
func refused(variant string, opts ...fault.Option) error {
	return fault.New(fault.RelayCommand, append(opts, fault.Variant(variant))...)
}
