package tool

import (
	"context"
	"slices"

	"sekisho/internal/agent"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
)

// step is a call that was validated, resolved and judged: either refused, or ready to run. Preparing it has changed
// nothing. Only the dispatcher runs it, after the audit line was written.
type step struct {
	refused *outcome
	run     func(ctx context.Context) outcome
	close   func() error // releases descriptors; nil when there is nothing to release
}

type preparer func(d *Dispatcher, ctx context.Context, s Scope, call agent.ToolCall, args any) step

var preparers = map[string]preparer{
	agent.ToolFileSearch: (*Dispatcher).prepareSearch,
	agent.ToolFileRead:   (*Dispatcher).prepareRead,
	agent.ToolFileEdit:   (*Dispatcher).prepareEdit,
	agent.ToolProcessRun: (*Dispatcher).prepareRun,
	agent.ToolTaskUpdate: (*Dispatcher).prepareUpdate,
	agent.ToolDir:        (*Dispatcher).prepareDir,
}

// Call carries out one call and always returns exactly one result for it, whatever happens (A-OLL-08). A cancelled ctx
// yields a result with agent.cancelled.
func (d *Dispatcher) Call(ctx context.Context, s Scope, call agent.ToolCall) agent.ToolResult {
	args, err := parse(call)
	if err != nil {
		return d.refuse(ctx, s, call, outcome{err: err})
	}
	if sideEffect(args) && !slices.Contains(s.Required, call.Name) {
		return d.refuse(ctx, s, call, outcome{
			err: fault.New(fault.ToolOutOfScope),
			say: "not executed: " + call.Name + " is not one of the running task's required tools, so this belongs to another task",
		})
	}
	st := preparers[call.Name](d, ctx, s, call, args)
	if st.close != nil {
		defer st.close()
	}
	if st.refused == nil && ctx.Err() != nil {
		st.refused = &outcome{err: ctx.Err()}
	}
	if st.refused != nil {
		return d.refuse(ctx, s, call, *st.refused)
	}
	if err := d.audit(s, call, audit.Event{Event: audit.ToolCall, Tool: call.Name, Source: call.Source, Decision: audit.Allow}); err != nil {
		return d.result(ctx, call, unaudited(err))
	}
	o := st.run(ctx)
	r := d.result(ctx, call, o)
	if err := d.auditEvents(s, call, o, r.ErrorCode); err != nil {
		return d.result(ctx, call, unaudited(err))
	}
	return r
}

// refuse answers a call that was not dispatched: every deny has its line, and the call itself has one.
func (d *Dispatcher) refuse(ctx context.Context, s Scope, call agent.ToolCall, o outcome) agent.ToolResult {
	r := d.result(ctx, call, o)
	if err := d.auditEvents(s, call, o, r.ErrorCode); err != nil {
		return d.result(ctx, call, unaudited(err))
	}
	e := audit.Event{Event: audit.ToolCall, Tool: call.Name, Source: call.Source, Decision: audit.Deny, ErrorCode: string(r.ErrorCode)}
	if err := d.audit(s, call, e); err != nil {
		return d.result(ctx, call, unaudited(err))
	}
	return r
}

func (d *Dispatcher) auditEvents(s Scope, call agent.ToolCall, o outcome, code fault.Code) error {
	for _, e := range o.events {
		e.ErrorCode = string(code)
		if err := d.audit(s, call, e); err != nil {
			return err
		}
	}
	return nil
}

// audit writes one event of a call with its correlation ids.
func (d *Dispatcher) audit(s Scope, call agent.ToolCall, e audit.Event) error {
	e.SessionID, e.TaskID, e.PlannerTask, e.CallID = s.Session, s.Task, s.PlannerTask, call.ID
	return d.deps.Audit.Write(e)
}

// unaudited is the answer when the audit cannot be written: nothing may run any more.
func unaudited(err error) outcome {
	e := fault.New(fault.StateUnusable, fault.Variant("audit"), fault.Target(audit.FileName), fault.Arg("reason", err), fault.Cause(err))
	return outcome{err: e, say: "the audit log cannot be written, so nothing may be done any more", fatal: true}
}

// sideEffect reports whether a call with these arguments is one of the side-effect tools of A-PLAN-09.
func sideEffect(args any) bool {
	switch a := args.(type) {
	case editArgs, runArgs:
		return true
	case dirArgs:
		return a.operation != "list"
	}
	return false
}
