package tool

import (
	"context"
	"errors"
	"strings"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

type updateHeader struct {
	OK        bool   `json:"ok"`
	Operation string `json:"operation"`
}

func (d *Dispatcher) prepareUpdate(_ context.Context, s Scope, _ agent.ToolCall, args any) step {
	u := args.(GraphUpdate)
	return step{run: func(ctx context.Context) outcome {
		said, err := s.Graph.Edit(ctx, u)
		if err != nil {
			return outcome{
				err: fault.New(fault.ToolArgumentsInvalid, fault.Target(u.Operation), fault.Cause(err)),
				say: "the task graph was not changed: " + reason(err),
			}
		}
		o := done("tool.plan.changed", updateHeader{OK: true, Operation: u.Operation}, said, "")
		return o
	}}
}

// reason is the text of a refusal by the planner; a coded error's own cause says more than its code.
func reason(err error) string {
	if e := fault.As(err); e != nil && e.Err != nil {
		err = errors.Unwrap(e)
	}
	return strings.TrimSpace(err.Error())
}
