package mcpserver

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connection ties the requests of one stdio client to the tasks they started, so that notifications/cancelled cancels the
// task of its agent_run also after that request was answered (A-RUN-04). A request over HTTP has one of its own, without
// owner: its task belongs to no connection.
type connection struct {
	owner   string
	cancel  func(task string)
	cancels sync.WaitGroup // calls of cancel

	mu             sync.Mutex
	tasks          map[string]string // request id → task id
	cancelledEarly map[string]bool   // ids of open requests that were cancelled before their task existed
	tool           string            // which tool a request over HTTP called
}

type connectionKey struct{}

func requestID(req *mcp.CallToolRequest) string {
	if req.Extra == nil {
		return ""
	}
	return req.Extra.Header.Get(requestIDHeader)
}

// maxRemembered bounds what one client can make the server remember of its requests.
const maxRemembered = 4096

// started records the task of a request and reports whether the request was cancelled meanwhile.
func (c *connection) started(id, task string) bool {
	if c.owner == "" {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancelledEarly[id] {
		delete(c.cancelledEarly, id)
		return true
	}
	if len(c.tasks) >= maxRemembered {
		clear(c.tasks) // ids of finished tasks are indistinguishable here; forgetting only loses a late cancellation
	}
	c.tasks[id] = task
	return false
}

// arrived implements requests: an id that is used again no longer names the task of the request before.
func (c *connection) arrived(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tasks, id)
}

// cancelled implements requests. The id of a request that is not there is not remembered: it would cancel a later one.
func (c *connection) cancelled(id string, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if task, ok := c.tasks[id]; ok {
		delete(c.tasks, id)
		c.cancels.Go(func() { c.cancel(task) })
	} else if open {
		c.cancelledEarly[id] = true
	}
}

// answered implements requests: what was no agent_run, or was refused, leaves no cancellation to a later request.
func (c *connection) answered(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.cancelledEarly, id)
}
