package runtime

import (
	"context"
	"errors"
	"strings"

	"sekisho/internal/agent"
	"sekisho/internal/agent/ollama"
	"sekisho/internal/agent/planner"
	"sekisho/internal/agent/prompt"
	"sekisho/internal/agent/session"
	"sekisho/internal/fault"
)

// Limits of planning: how often a plan is revised (A-PLAN-06), and how much of a refused plan and of an obstacle is shown
// to the model again.
const (
	maxReplans   = 3
	maxEcho      = 8 << 10
	maxObstacle  = 2 << 10
	maxDone      = 300
	planTries    = 2 // the plan and one correction (A-PLAN-04)
	cutByLength  = "the answer was cut off because it was too long: make the plan shorter"
	emptyAnswer  = "the answer was empty"
	noPlanReason = "no usable plan"
)

// plan makes the initial graph (A-PLAN-04). No sandbox exists yet.
func (x *run) plan(ctx context.Context) *ending {
	x.publish()
	graph, end := x.structured(ctx, agent.PhasePlanning, prompt.PlannerContract(x.deps.Config.MaxTasks), func(data []byte) (*planner.TaskGraph, error) {
		return planner.ParsePlan(data, x.deps.Config.MaxTasks)
	})
	if end != nil {
		return end
	}
	x.graph = graph
	x.task.session.SetGraph(graph.Tasks())
	return nil
}

// obstacle is a refusal or a resource limit that repeating the call cannot remove.
type obstacle struct {
	fingerprint fingerprint
	result      agent.ToolResult
	done        []string // successful calls of the interrupted planner task, in short
}

func (o *obstacle) ending() *ending {
	return &ending{code: o.result.ErrorCode, text: o.result.UserText, err: errors.New(session.Cut(o.result.Content, maxObstacle))}
}

// reason is what the planning model is told about o. Calls that had succeeded are named, so that the new plan does not
// repeat their effects.
func (o *obstacle) reason() string {
	text := "A call of " + o.result.Name + " was refused and will be refused again. Its result:\n"
	if o.result.ErrorCategory == fault.ResourceLimit {
		text = "A call of " + o.result.Name + " exceeded a limit and would exceed it again. Its result:\n"
	}
	text += session.Cut(o.result.Content, maxObstacle)
	if len(o.done) > 0 {
		text += "\nCalls of the interrupted task that had succeeded before:"
		for _, call := range o.done {
			text += "\n- " + session.Cut(call, maxDone)
		}
	}
	return text
}

// replan answers an obstacle: running → planning → running, at most three times. The same refusal again, an unchanged plan
// or one in which nothing can start ends the task (A-PLAN-06). A resource limit is answered in the same way (A-ERR-02
// leaves the choice).
func (x *run) replan(ctx context.Context, o *obstacle) *ending {
	if x.denied[o.fingerprint] || x.replans >= maxReplans {
		return o.ending()
	}
	x.denied[o.fingerprint] = true
	x.replans++
	x.enter(agent.Planning)
	var tasks []prompt.Task
	for _, t := range x.graph.Tasks() {
		tasks = append(tasks, session.Show(t))
	}
	next, end := x.structured(ctx, agent.PhaseReplanning, prompt.ReplanContract(x.deps.Config.MaxTasks, tasks, o.reason()), x.graph.Replan)
	switch {
	case end != nil:
		return end
	case x.graph.Unchanged(next):
		return o.ending()
	}
	x.graph = next
	x.task.session.SetGraph(next.Tasks())
	x.task.worked = o.ending() // read by finish, which this goroutine reaches only later
	x.enter(agent.Running)
	return nil
}

// structured asks for a plan as structured output and corrects an unusable one once, with the concrete reasons and
// everything else, think included, unchanged.
func (x *run) structured(ctx context.Context, phase agent.Phase, contract string, parse func([]byte) (*planner.TaskGraph, error)) (*planner.TaskGraph, *ending) {
	messages := prompt.Plan{Frame: x.frame, Contract: contract, Request: x.task.request.Text, Images: x.task.request.Images}.Messages()
	var reasons []string
	for range planTries {
		reply, err := x.chat(ctx, ollama.Request{Phase: phase, Messages: messages, Format: planner.Schema(x.deps.Config.MaxTasks)}, "")
		if err != nil {
			// An overflow has nothing to summarize here: the planning context holds no conversation (A-SES-06, A-SES-07).
			return nil, x.because(ctx, err)
		}
		graph, why := judgePlan(reply, parse)
		if graph != nil {
			return graph, nil
		}
		reasons = why
		x.deps.Log.Info("plan refused", "task_id", x.task.status.TaskID, "reasons", reasons)
		if echo := reply.Message.Content; strings.TrimSpace(echo) != "" {
			messages = append(messages, agent.Message{Role: "assistant", Content: session.Cut(echo, maxEcho)})
		}
		messages = append(messages, agent.Message{Role: "user", Content: prompt.Correction(reasons)})
	}
	return nil, x.ended(fault.New(fault.PlannerFailed, fault.Cause(errors.New(strings.Join(append([]string{noPlanReason}, reasons...), "; ")))))
}

// judgePlan returns the graph of a reply, or why there is none. A reply that was cut is no plan, whatever it parses to.
func judgePlan(reply ollama.Response, parse func([]byte) (*planner.TaskGraph, error)) (*planner.TaskGraph, []string) {
	switch {
	case reply.Truncated:
		return nil, []string{cutByLength}
	case strings.TrimSpace(reply.Message.Content) == "":
		return nil, []string{emptyAnswer}
	}
	graph, err := parse([]byte(reply.Message.Content))
	if err == nil {
		return graph, nil
	}
	var invalid *planner.InvalidError
	if errors.As(err, &invalid) {
		return nil, invalid.Reasons
	}
	return nil, []string{err.Error()}
}
