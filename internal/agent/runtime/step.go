package runtime

import (
	"context"
	"fmt"
	"strings"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/planner"
	"sekisho/internal/agent/session"
	"sekisho/internal/fault"
)

// Limits of what is carried on from results (ours).
const (
	minBudget     = 8 << 10 // bytes of context for earlier work when num_ctx is not set or tiny
	maxKeptCalls  = 20
	maxKeptResult = 8 << 10
)

// step runs one planner task until it is verified. It returns an obstacle that a replan may get around, or the end of the
// agent task, or neither: then the planner task is completed.
func (x *run) step(ctx context.Context, t planner.Task) (*obstacle, *ending) {
	if err := x.graph.SetState(t.ID, agent.Running); err != nil {
		return nil, x.because(ctx, err)
	}
	x.publish()
	l := &ledger{}
	exchange := &session.Exchange{}
	for {
		x.task.session.SetGraph(x.graph.Tasks())
		t, _ = x.graph.Task(t.ID) // task_update may have changed the estimate
		w := session.Work{
			Frame: x.frame, Request: x.task.request.Text, Images: x.task.request.Images, Graph: x.graph.Tasks(), Current: t,
			Missing: l.evidence.Missing(t), Exchange: exchange, Budget: max(x.deps.Config.NumCtx, minBudget),
		}
		reply, end := x.ask(ctx, w)
		if end != nil {
			return nil, end
		}
		if len(reply.Message.ToolCalls) > 0 {
			results, o, end := x.calls(ctx, t, l, reply.Message.ToolCalls)
			if o != nil || end != nil {
				return o, end
			}
			exchange.AddCalls(reply.Message, results)
			continue
		}
		observation, f := x.judge(t, l, reply)
		if observation == "" {
			return nil, x.complete(ctx, t, l, reply.Message.Content)
		}
		if end := x.counted(f); end != nil {
			return nil, end
		}
		exchange.AddText(reply.Message, observation)
	}
}

// judge decides about a reply without a tool call: "" when the planner task is verified, otherwise the observation that
// answers it and the failure as which it counts (A-TOOL-08). What the reply says plays no part.
func (x *run) judge(t planner.Task, l *ledger, reply ollama.Response) (string, fingerprint) {
	switch missing := l.evidence.Missing(t); {
	case len(l.unresolved) > 0:
		f := l.unresolved[len(l.unresolved)-1]
		return "Not finished: " + describe(f) + " failed with code " + string(f.fingerprint.code) + " and no later call has made up for it. " +
			"Find the cause, correct it and make the call that succeeds now. A statement does not count.", f.fingerprint
	case reply.Empty && reply.Dropped:
		return "Nothing was received: your tool call was not valid and was dropped. The available tools are " + x.toolList() +
			". Call one of them with the arguments of its schema, or answer in plain text if the task is finished.", fingerprint{"", t.ID, fault.OllamaEmptyResponse}
	case reply.Empty:
		return "Your answer was empty. Call one of the tools " + x.toolList() + ", or answer in plain text if the task is finished.",
			fingerprint{"", t.ID, fault.OllamaEmptyResponse}
	case len(missing) > 0:
		return "Not executed: " + strings.Join(missing, "; ") + ". Text, plans and code blocks are not executed. Call the tool now.",
			fingerprint{"", t.ID, fault.ToolNotExecuted}
	}
	return "", fingerprint{}
}

func describe(f failedCall) string {
	if f.program != "" {
		return fmt.Sprintf("%s of %q", f.tool, f.program)
	}
	return f.tool
}

func (x *run) toolList() string {
	var names []string
	for _, t := range x.deps.Tools.Catalogue() {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// counted adds one occurrence of a failure and ends the agent task at the limit.
func (x *run) counted(f fingerprint) *ending {
	if x.guard.count(f) {
		return x.ended(fault.New(fault.AgentSameFailureLimit, variant(f.code), fault.Arg("count", x.guard.limit), fault.Arg("cause", f.code)))
	}
	return nil
}

// variant selects the sentence of agent.same_failure_limit for what was counted.
func variant(code fault.Code) fault.Option {
	switch code {
	case fault.ToolNotExecuted:
		return fault.Variant("not_executed")
	case fault.OllamaEmptyResponse:
		return fault.Variant("empty_response")
	case noProgress:
		return fault.Variant("no_progress")
	}
	return fault.Variant("")
}

// complete closes a verified planner task and keeps its results.
func (x *run) complete(ctx context.Context, t planner.Task, l *ledger, answer string) *ending {
	if err := x.graph.SetState(t.ID, agent.Completed); err != nil {
		return x.because(ctx, err)
	}
	x.answer = answer
	x.task.session.AddResult(session.Result{
		Task: x.task.status.TaskID, Planner: t.ID, Description: t.Description, Answer: answer, Calls: l.result.calls, Changed: l.result.changed,
	})
	x.task.session.SetGraph(x.graph.Tasks())
	x.publish()
	return nil
}
