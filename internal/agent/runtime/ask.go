package runtime

import (
	"context"
	"errors"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/session"
	"sekisho/internal/fault"
)

// largerPredict is how much more a truncated answer may write when it is asked for again (F18).
const largerPredict = 4

// chat performs one logical model call and accounts for it (A-PLAN-07). A call of the run phase is one iteration
// (A-RUN-02); PlannerTask is "" for the other phases.
func (x *run) chat(ctx context.Context, q ollama.Request, plannerTask string) (ollama.Response, error) {
	if q.Phase == agent.PhaseExecution {
		if x.iterations >= x.deps.Config.MaxIterations {
			return ollama.Response{}, fault.New(fault.AgentMaxIterations, fault.Arg("limit", x.deps.Config.MaxIterations))
		}
		x.iterations++
		x.publish()
	}
	q.Temperature = x.task.request.Temperature
	q.Meta = ollama.Meta{
		Session: x.task.session.ID(), Task: x.task.status.TaskID, PlannerTask: plannerTask, Iteration: x.iterations, Replan: x.replans,
	}
	reply, err := x.deps.Model.Chat(ctx, q)
	x.usage = x.usage.Add(reply.Usage)
	if plannerTask != "" {
		if e := x.graph.AddUsage(plannerTask, reply.Usage); e != nil {
			return reply, errors.Join(err, e)
		}
	}
	x.publish()
	if reply.LogError != nil {
		x.deps.Log.Warn("the LLM log is incomplete", "error", reply.LogError)
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // a late answer of a cancelled call is discarded
	}
	return reply, err
}

// ask makes one step of the conversation of w's planner task. It repairs what can be repaired once: a context that does not
// fit is summarized and sent again smaller, an answer cut by num_predict is asked for again with more room. A payload that
// failed is never sent again as it was (A-SES-07).
func (x *run) ask(ctx context.Context, w session.Work) (ollama.Response, *ending) {
	q := ollama.Request{Phase: agent.PhaseExecution, Tools: x.deps.Tools.Catalogue(), Validate: x.deps.Tools.Validate}
	summarized := false
	for {
		q.Messages = x.task.session.Context(w)
		reply, err := x.chat(ctx, q, w.Current.ID)
		problem := x.unusable(reply, err)
		switch {
		case problem == nil:
			return reply, nil
		case ctx.Err() != nil:
			return reply, x.because(ctx, err)
		case problem.Code == fault.OllamaContextOverflow, problem.Code == fault.OllamaContextTruncated, reply.WindowExhausted:
			if summarized || !x.task.session.Summarize(w) {
				return reply, x.ended(problem)
			}
			summarized = true
		case problem.Code == fault.OllamaOutputTruncated && x.deps.Config.NumPredict > 0 && q.NumPredict == nil:
			n := x.deps.Config.NumPredict * largerPredict
			q.NumPredict = &n
		default:
			return reply, x.ended(problem)
		}
		x.deps.Log.Warn("asking the model again", "task_id", x.task.status.TaskID, "code", problem.Code, "summarized", summarized)
	}
}

// unusable is why a reply must not be acted on, or nil. Text that answers a silently cut prompt is as worthless as an
// answer that was itself cut.
func (x *run) unusable(reply ollama.Response, err error) *fault.Error {
	if err != nil {
		if e := fault.As(err); e != nil {
			return e
		}
		return fault.New(fault.AgentInternal, fault.Cause(err))
	}
	if reply.Truncated {
		return x.deps.Model.Fault(fault.OllamaOutputTruncated)
	}
	for _, w := range reply.Warnings {
		if w.Code == fault.OllamaContextTruncated {
			return w
		}
	}
	return nil
}
