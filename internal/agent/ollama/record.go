package ollama

import (
	"fmt"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

// complete fills the log record of a finished call.
func (c *Client) complete(rec *CallRecord, r Request, out Response, err error) {
	m := r.Meta
	rec.Session, rec.Task, rec.PlannerTask, rec.Iteration, rec.Replan = m.Session, m.Task, m.PlannerTask, m.Iteration, m.Replan
	rec.Phase, rec.Model = r.Phase, c.cfg.Model
	rec.DurationMS = time.Since(rec.Time).Milliseconds()
	rec.Request.Endpoint, rec.Request.Think, rec.Request.KeepAlive, rec.Request.Format = c.set.base, c.cfg.Think, c.cfg.KeepAlive, len(r.Format) > 0
	for _, t := range r.Tools {
		rec.Request.Tools = append(rec.Request.Tools, t.Name)
	}
	for _, msg := range r.Messages {
		rec.Prompt = append(rec.Prompt, messageRecord(msg))
	}
	if err != nil {
		rec.ErrorCode = fault.CodeOf(err)
		if rec.ErrorCode == "" {
			rec.ErrorCode = fault.AgentCancelled // the context's error: the caller ended the call
		}
		return
	}
	rec.Response = &ResponseRecord{Content: out.Message.Content, ToolCalls: callEntries(out.Message.ToolCalls), DoneReason: out.DoneReason,
		Usage: out.Usage, Dropped: out.Dropped}
	for _, w := range out.Warnings {
		rec.Response.Warnings = append(rec.Response.Warnings, w.Code)
	}
}

func messageRecord(m agent.Message) MessageRecord {
	rec := MessageRecord{Role: m.Role, Content: m.Content, ToolCalls: callEntries(m.ToolCalls), ToolName: m.ToolName, ToolCallID: m.ToolCallID}
	for _, img := range m.Images {
		rec.Images = append(rec.Images, fmt.Sprintf("%s, %d bytes of Base64", img.MIMEType, len(img.Data)))
	}
	return rec
}

func callEntries(calls []agent.ToolCall) []CallEntry {
	var out []CallEntry
	for _, c := range calls {
		out = append(out, CallEntry{ID: c.ID, Name: c.Name, Arguments: c.Arguments, Source: c.Source})
	}
	return out
}
