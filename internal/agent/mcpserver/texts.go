package mcpserver

import (
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/agent"
	"sekisho/internal/agent/mcpserver/taskstore"
	"sekisho/internal/fault"
	"sekisho/internal/visible"
)

// lineLimit bounds a whole line of a tool's text, name included, in bytes (A-MCP-03).
const lineLimit = 500

// Texts gives localized texts; locale.Catalogue implements it.
type Texts interface {
	Text(key string, args map[string]string) string
	Error(e *fault.Error) (sentence, remedy string)
}

// lines builds the text of a tool result: one line a field, which no value can break out of. Values come as localized texts,
// in which what came from outside is escaped once already.
type lines struct{ b strings.Builder }

func (l *lines) add(name, value string) {
	l.b.WriteString(name)
	l.b.WriteString(":")
	if value != "" {
		l.b.WriteString(" ")
		l.b.WriteString(visible.Clip(value, lineLimit-len(name)-2))
	}
	l.b.WriteString("\n")
}

func (l *lines) text() string { return strings.TrimSuffix(l.b.String(), "\n") }

// acceptedText is the answer to agent_run (A-MCP-02).
func acceptedText(taskID, sessionID, message string) string {
	var l lines
	l.add("task_id", taskID)
	l.add("session_id", sessionID)
	l.add("status", string(agent.Queued))
	l.add("message", message)
	return l.text()
}

// statusText is the answer to agent_status (A-MCP-03). Only result may span lines, and it is the last field.
func statusText(s agent.TaskStatus) string {
	var l lines
	l.add("task_id", s.TaskID)
	l.add("session_id", s.SessionID)
	l.add("status", string(s.Status))
	l.add("completed_tasks", fmt.Sprintf("%d/%d", s.CompletedTasks, s.TotalTasks))
	l.add("current_task", s.CurrentTask)
	l.add("token_usage", fmt.Sprintf("input=%d output=%d total=%d", s.Usage.Input, s.Usage.Output, s.Usage.Total()))
	l.add("critical_path_tokens", fmt.Sprint(s.CriticalPathTokens))
	l.add("iterations", fmt.Sprint(s.Iterations))
	l.add("replans", fmt.Sprint(s.Replans))
	l.add("last_error_code", string(s.LastErrorCode))
	l.add("last_error", s.LastError)
	l.add("message", s.Message)
	if s.Status != agent.Completed {
		return l.text()
	}
	head := l.b.String() + "result: "
	return head + taskstore.Cut(s.Result, taskstore.ResultLimit-len(head))
}

// refusal is a tool result that tells a coded failure: the code, what happened and what to do.
func (s *Server) refusal(err error) *mcp.CallToolResult {
	e := fault.As(err)
	if e == nil {
		s.log.Error("a tool call failed without a code", "error", err)
		e = fault.New(fault.AgentInternal, fault.Cause(err))
	}
	if e.Code == fault.RequestInvalid {
		// The reason is itself a text of the catalogue, below "request.".
		e = e.With(fault.Arg("reason", s.texts.Text("request."+e.Args["reason"], e.Args)))
	}
	sentence, remedy := s.texts.Error(e)
	var l lines
	l.add("error_code", string(e.Code))
	l.add("message", sentence)
	l.add("remedy", remedy)
	result := textResult(l.text())
	result.IsError = true
	return result
}

// textResult is a fresh result for each call: the SDK writes into it.
func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
