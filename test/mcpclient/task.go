package mcpclient

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Run hands a request to agent_run and returns the id of its task.
func (c *Client) Run(request string) (task string, err error) {
	text, err := c.Tool("agent_run", map[string]any{"request": request})
	if err != nil {
		return "", err
	}
	if task = Fields(text)["task_id"]; task == "" {
		return "", fmt.Errorf("agent_run said %q", text)
	}
	return task, nil
}

// Status is agent_status's text of a task.
func (c *Client) Status(task string) (string, error) {
	return c.Tool("agent_status", map[string]any{"task_id": task})
}

// Ended reports whether a status is one that a task keeps.
func Ended(status string) bool {
	return slices.Contains([]string{"completed", "failed", "cancelled"}, status)
}

// Await asks for a task until it has ended and returns its last text. Polling is what a client does.
func (c *Client) Await(ctx context.Context, task string) (string, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := c.Status(task)
		if err != nil || Ended(Fields(text)["status"]) {
			return text, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return text, fmt.Errorf("%w\n%s", ctx.Err(), text)
		}
	}
}
