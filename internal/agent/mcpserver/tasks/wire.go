package tasks

import (
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/agent/mcpserver/taskstore"
)

// ID names the extension.
const ID = "io.modelcontextprotocol/tasks"

// modern is the first protocol revision that has the extension; revisions are dates and compare as text.
const modern = "2026-07-28"

// Values of resultType.
const (
	resultTask     = "task"
	resultComplete = "complete"
)

// The methods of the extension.
const (
	methodGet    = "tasks/get"
	methodUpdate = "tasks/update"
	methodCancel = "tasks/cancel"
)

// Methods returns what the extension adds to the methods of a server.
func Methods() []string { return []string{methodGet, methodUpdate, methodCancel} }

// params are those of all three methods. The members are decoded here and not by the SDK, whose error repeats them.
type params struct {
	mcp.ParamsBase
	TaskID         json.RawMessage `json:"taskId"`
	InputResponses json.RawMessage `json:"inputResponses,omitempty"`
}

// wireTask is the Task of the extension.
type wireTask struct {
	TaskID         string           `json:"taskId"`
	Status         taskstore.Status `json:"status"`
	StatusMessage  string           `json:"statusMessage,omitempty"`
	CreatedAt      string           `json:"createdAt"`
	LastUpdatedAt  string           `json:"lastUpdatedAt"`
	TTLMs          int64            `json:"ttlMs"`
	PollIntervalMs int64            `json:"pollIntervalMs"`
}

// created is the CreateTaskResult: the answer to the request that a task stands for.
type created struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
	wireTask
}

// detailed is the answer to tasks/get.
type detailed struct {
	created
	InputRequests map[string]json.RawMessage `json:"inputRequests,omitempty"`
	Result        *toolResult                `json:"result,omitempty"`
	Error         *taskstore.Error           `json:"error,omitempty"`
}

// toolResult is the CallToolResult of a completed task.
type toolResult struct {
	ResultType string        `json:"resultType"`
	Content    []textContent `json:"content"`
	IsError    bool          `json:"isError"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// acknowledged is the empty answer to tasks/update and tasks/cancel.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// iso8601 is how times go out: UTC, in milliseconds.
const iso8601 = "2006-01-02T15:04:05.000Z"

func wire(r taskstore.Record) wireTask {
	return wireTask{TaskID: r.TaskID, Status: r.Status, StatusMessage: r.StatusMessage, CreatedAt: r.CreatedAt.UTC().Format(iso8601),
		LastUpdatedAt: r.UpdatedAt.UTC().Format(iso8601), TTLMs: r.TTLMs, PollIntervalMs: r.PollIntervalMs}
}

func detail(r taskstore.Record) *detailed {
	d := &detailed{created: created{ResultType: resultComplete, wireTask: wire(r)}, Error: r.Error}
	if r.Result != nil {
		d.Result = &toolResult{ResultType: resultComplete, Content: []textContent{{"text", r.Result.Text}}, IsError: r.Result.IsError}
	}
	return d
}

// overlay lays the progress of unfinished work over its record.
func (d *detailed) overlay(p Progress) {
	if p.Message != "" {
		d.StatusMessage = p.Message
	}
	if at := p.Updated.UTC().Format(iso8601); at > d.LastUpdatedAt {
		d.LastUpdatedAt = at
	}
	if len(p.Inputs) > 0 {
		d.Status, d.InputRequests = taskstore.InputRequired, p.Inputs
	}
}

// optedIn reports whether a request's own _meta declares the extension. Nothing that an earlier request said counts.
func optedIn(meta map[string]any) bool {
	capabilities, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, ok := extensions[ID].(map[string]any)
	return ok
}

// isModern reports whether a request belongs to the era that has the extension.
func isModern(meta map[string]any) bool {
	version, _ := meta[mcp.MetaKeyProtocolVersion].(string)
	return version >= modern
}

// MissingCapability is the error for a request that needs the extension and does not declare it.
func MissingCapability() error {
	// The SDK's own type for the data would ask for roots as well.
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "missing required client capability " + ID,
		Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + ID + `":{}}}}`)}
}

func notFound() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
}

// unknown is the one answer to an id that is malformed, unknown or expired: it tells nothing about which.
func unknown() error { return invalidParams("unknown or expired task") }

func invalidParams(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

func internal(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message}
}

// zero keeps an unset time from looking newer than a record's.
func (p Progress) at(fallback time.Time) Progress {
	if p.Updated.IsZero() {
		p.Updated = fallback
	}
	return p
}
