package runtime

import (
	"context"
	"slices"

	"sekisho/internal/agent"
	"sekisho/internal/agent/planner"
	"sekisho/internal/agent/session"
	"sekisho/internal/agent/tool"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/strictjson"
)

// maxCalls bounds the calls of one answer that are executed; more is a model running away.
const maxCalls = 32

// calls executes the calls of one answer in order and returns exactly one result message for each, paired by position: ids
// may repeat (F39). An obstacle or an end stops at once; nothing after it is executed.
func (x *run) calls(ctx context.Context, t planner.Task, l *ledger, calls []agent.ToolCall) ([]agent.Message, *obstacle, *ending) {
	var messages []agent.Message
	for i, call := range calls {
		if ctx.Err() != nil {
			return nil, nil, x.because(ctx, ctx.Err())
		}
		var r agent.ToolResult
		var o *obstacle
		var end *ending
		if i >= maxCalls {
			r = notExecuted(call, "an answer may hold at most 32 calls")
			end = x.undispatched(t, call, audit.Deny, fault.ToolNotExecuted, "too_many_calls")
		} else {
			r, o, end = x.call(ctx, t, l, call)
		}
		if o != nil {
			for _, rest := range calls[i+1:] {
				if e := x.undispatched(t, rest, audit.Deny, fault.ToolNotExecuted, "after_refusal"); e != nil {
					return nil, nil, e
				}
			}
		}
		if o != nil || end != nil {
			return nil, o, end
		}
		messages = append(messages, agent.Message{
			Role: "tool", Content: session.Cut(r.Content, max(2*x.deps.Config.NumCtx, minBudget)), ToolName: call.Name, ToolCallID: call.ID,
		})
	}
	return messages, nil, nil
}

// call executes one call, or answers it from the ledger when it only repeats an earlier success.
func (x *run) call(ctx context.Context, t planner.Task, l *ledger, call agent.ToolCall) (agent.ToolResult, *obstacle, *ending) {
	earlier, repeats := l.repeated(call)
	if repeats {
		if end := x.counted(fingerprintOf(call, noProgress), variant(noProgress), earlier.Happened); end != nil {
			return agent.ToolResult{}, nil, end
		}
		if readOnly(call) {
			earlier.CallID = call.ID
			earlier.Content += "\n[This is the recorded result of the same call: nothing has changed since. Use it and go on.]"
			return earlier, nil, x.undispatched(t, call, audit.Allow, "", "recorded_result")
		}
	}
	r := x.deps.Tools.Call(ctx, tool.Scope{
		Session: x.task.session.ID(), Task: x.task.status.TaskID, PlannerTask: t.ID, Required: t.RequiredTools,
		Job:    func(context.Context) (sandbox.Job, error) { return x.job, nil },
		Guards: x.job.Guards(), Graph: editor{x},
	}, call)
	switch {
	case ctx.Err() != nil:
		return r, nil, x.because(ctx, ctx.Err())
	case r.Fatal != nil:
		return r, nil, x.ended(r.Fatal)
	case r.OK:
		l.succeed(call, r)
		x.around = answered(l.base, x.around, call, r)
		x.keep(l, call, r)
		if repeats {
			r.Content += "\n[The same call has succeeded before and nothing else has changed since. Do not repeat it.]"
		}
		return r, nil, nil
	}
	x.notice(r)
	switch r.ErrorCategory {
	case fault.PolicyDeny: // terminal for this call (A-TOOL-09)
		x.task.session.AddDenial(string(r.ErrorCode), r.TargetPath)
		return r, &obstacle{fingerprintOf(call, r.ErrorCode), r, l.result.calls}, nil
	case fault.ResourceLimit:
		x.task.session.AddFailure(string(r.ErrorCode), program(call))
		return r, &obstacle{fingerprintOf(call, r.ErrorCode), r, l.result.calls}, nil
	case fault.RecoveryFailure, fault.Internal:
		return r, nil, &ending{code: r.ErrorCode, text: r.UserText, recovery: r.ErrorCategory == fault.RecoveryFailure, err: fault.New(r.ErrorCode)}
	}
	x.task.session.AddFailure(string(r.ErrorCode), r.TargetPath)
	l.fail(call, r)
	return r, nil, x.counted(fingerprintOf(call, r.ErrorCode), variant(r.ErrorCode), r.Happened)
}

// undispatched writes the audit line of a call that never reached the dispatcher, which writes those of all others.
func (x *run) undispatched(t planner.Task, call agent.ToolCall, decision string, code fault.Code, reason string) *ending {
	return x.audit(audit.Event{
		Event: audit.ToolCall, PlannerTask: t.ID, CallID: call.ID, Tool: call.Name, Source: call.Source, Decision: decision, ErrorCode: string(code), Reason: reason,
	})
}

// keep collects what a verified planner task leaves to later ones: its successful calls in short, and changed files.
func (x *run) keep(l *ledger, call agent.ToolCall, r agent.ToolResult) {
	text := call.Name + " " + session.Cut(canonical(call), 500) + " -> " + session.Cut(r.Content, maxKeptResult)
	if l.result.calls = append(l.result.calls, text); len(l.result.calls) > maxKeptCalls {
		l.result.calls = slices.Delete(l.result.calls, 0, 1)
	}
	for _, path := range r.Changed {
		if !slices.Contains(l.result.changed, path) {
			l.result.changed = append(l.result.changed, path)
		}
	}
}

// notExecuted is the result of a call that was not tried, in the form of the tools' own results.
func notExecuted(call agent.ToolCall, why string) agent.ToolResult {
	header, err := strictjson.Marshal(struct {
		OK    bool       `json:"ok"`
		Code  fault.Code `json:"error_code"`
		Retry bool       `json:"retry_allowed"`
	}{false, fault.ToolNotExecuted, true})
	if err != nil {
		panic("runtime: encoding a constant: " + err.Error())
	}
	return agent.ToolResult{
		CallID: call.ID, Name: call.Name, ErrorCode: fault.ToolNotExecuted, ErrorCategory: fault.ToolFailure, RetryAllowed: true,
		Content: string(header) + "\nnot executed: " + why,
	}
}
