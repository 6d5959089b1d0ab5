package tool

import (
	"context"
	"unicode/utf8"

	"sekisho/internal/agent"
	"sekisho/internal/agent/tool/charset"
	"sekisho/internal/audit"
	"sekisho/internal/fault"
	"sekisho/internal/sandbox"
	"sekisho/internal/strictjson"
)

// The Content of every result starts with one line that is a JSON object; text follows on the next lines. A failure's
// header is failureHeader, a success's header has ok true and members of the tool. Only the first line is the header:
// what a file or a program says cannot forge it.
type failureHeader struct {
	OK                 bool           `json:"ok"`
	ErrorCode          fault.Code     `json:"error_code"`
	ErrorCategory      fault.Category `json:"error_category"`
	TargetPath         string         `json:"target_path,omitzero"`
	RequiredPermission string         `json:"required_permission,omitzero"`
	RetryAllowed       bool           `json:"retry_allowed"`
	Resolution         string         `json:"resolution,omitzero"`
}

// content joins a header and a body.
func content(header any, body string) string {
	line, err := strictjson.Marshal(header)
	if err != nil {
		// Headers are structs of this package whose texts have passed valid().
		panic("tool: encoding a result header: " + err.Error())
	}
	if body == "" {
		return string(line)
	}
	return string(line) + "\n" + body
}

// valid makes a path or name fit for a header: bytes that are not UTF-8 are shown as escapes.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return charset.Printable([]byte(s))
}

// outcome is what a tool hands back: exactly one of ok and failure.
type outcome struct {
	header     any    // of a success
	body       string // text after the header, for success and failure
	sideEffect bool
	changed    []string
	userKey    string // locale key of the sentence for a success
	userArgs   map[string]string

	err        error          // of a failure: a *fault.Error, or what becomes tool.failed
	target     string         // the path as the model may know it
	permission sandbox.Rights // what a deny would have needed
	say        string         // English text for the model; "" = the code's own
	events     []audit.Event  // written after the call's own line; correlation ids and error code are added
	final      bool           // no retry although the code allows one
	fatal      bool           // the failure ends the agent task
}

// done is a success with the user's sentence about path.
func done(key string, header any, body, path string) outcome {
	return outcome{header: header, body: body, userKey: key, userArgs: map[string]string{"path": valid(path)}}
}

// failure makes a tool.failed of the given variant with an English text for the model.
func failure(variant, target, say string) outcome {
	return outcome{err: fault.New(fault.ToolFailed, fault.Variant(variant), fault.Target(valid(target))), target: target, say: say}
}

// ends reports whether a failure ends the agent task.
func (o outcome) ends() bool {
	e := fault.As(o.err)
	return o.fatal || e != nil && (e.Category() == fault.RecoveryFailure || e.Code == fault.SandboxLost)
}

// result turns an outcome into the result of call.
func (d *Dispatcher) result(ctx context.Context, call agent.ToolCall, o outcome) agent.ToolResult {
	r := agent.ToolResult{CallID: call.ID, Name: call.Name}
	if o.err == nil {
		r.OK, r.SideEffect, r.Changed = true, o.sideEffect, o.changed
		r.Content = content(o.header, o.body)
		r.UserText = d.deps.Texts.Text(o.userKey, o.userArgs)
		r.Happened = r.UserText
		return r
	}
	if ctx.Err() != nil && !o.ends() {
		o = outcome{err: fault.New(fault.AgentCancelled, fault.Cause(o.err)), say: "the task was cancelled", final: true}
	}
	e := fault.As(o.err)
	if e == nil {
		e = fault.New(fault.ToolFailed, fault.Target(valid(o.target)), fault.Cause(o.err))
	}
	info, _ := fault.Lookup(e.Code)
	r.ErrorCode, r.ErrorCategory = e.Code, info.Category
	r.TargetPath, r.RequiredPermission = valid(o.target), o.permission.String()
	// A deny is terminal for its call (A-TOOL-09); the other codes say for themselves.
	r.RetryAllowed = info.Retry && !o.final && info.Category != fault.PolicyDeny
	r.Resolution = resolution(e)
	if o.ends() {
		r.Fatal, r.RetryAllowed = e, false
	}
	sentence, remedy := d.deps.Texts.Error(e)
	r.UserText, r.Happened = d.deps.Texts.Join(sentence, remedy), sentence
	say := o.say
	if say == "" {
		say = explain(e)
	}
	if o.body != "" {
		say += "\n" + o.body
	}
	r.Content = content(failureHeader{
		ErrorCode: r.ErrorCode, ErrorCategory: r.ErrorCategory, TargetPath: r.TargetPath,
		RequiredPermission: r.RequiredPermission, RetryAllowed: r.RetryAllowed, Resolution: r.Resolution,
	}, say)
	return r
}

// resolution tells the model what can be done about a failure, by category (A-ERR-02).
func resolution(e *fault.Error) string {
	switch e.Category() {
	case fault.PolicyDeny:
		return "do not repeat this call; use only what the policy allows"
	case fault.ResourceLimit:
		return "do not repeat this call unchanged; the whole process tree was ended"
	}
	switch e.Code {
	case fault.ToolArgumentsInvalid:
		return "correct the arguments and call again"
	case fault.ToolUnknown:
		return "call one of the listed tools"
	case fault.ToolOutOfScope:
		return "do only the running task"
	}
	return ""
}

// explain is the model's text for a failure that came without one. The causes of these two codes are written for the
// model; any other cause may name what the model must not learn, so it stays in the log.
func explain(e *fault.Error) string {
	if e.Err != nil && e.Variant == "" && (e.Code == fault.ToolArgumentsInvalid || e.Code == fault.ToolUnknown) {
		return e.Err.Error()
	}
	switch e.Code {
	case fault.ResourceTimeLimit:
		return "the time limit was exceeded and every process was ended"
	case fault.ResourceMemoryLimit:
		return "the memory limit was exceeded and every process was ended"
	case fault.ResourceProcessLimit:
		return "the limit on the number of processes was exceeded and every process was ended"
	case fault.SandboxLost:
		return "the sandbox ended unexpectedly"
	}
	return "failed with code " + string(e.Code)
}
