package runtime

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"sekisho/internal/agent"
)

// publish makes the run's progress visible to agent_status.
func (x *run) publish() {
	x.mu.Lock()
	defer x.mu.Unlock()
	st := &x.task.status
	x.task.touch()
	st.Usage, st.Iterations, st.Replans = x.usage, x.iterations, x.replans
	if x.graph == nil {
		return
	}
	st.CompletedTasks, st.TotalTasks = x.graph.Count()
	st.CriticalPathTokens = x.graph.CriticalPathTokens()
	st.CurrentTask = ""
	for i, t := range x.graph.Tasks() {
		if t.State == agent.Running {
			st.CurrentTask = x.deps.Texts.Text("message.step", map[string]string{
				"number": strconv.Itoa(i + 1), "total": strconv.Itoa(st.TotalTasks), "description": x.userText(x.task, t.Description)})
		}
	}
}

// notice shows a failure that did not end the task as its last error.
func (x *run) notice(r agent.ToolResult) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.task.status.LastErrorCode, x.task.status.LastError = r.ErrorCode, r.UserText
	x.task.touch()
}

// toolNames finds internal tool names that stand as words of their own. dir is left out: it is a word of the language.
var toolNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[\s,;:("'` + "`" + `])(file_search|file_read|file_edit|process_run|task_update)($|[\s,;:.)"'` + "`" + `])`)
})

// userText takes internal tool names out of a text that the model wrote for the user (A-MCP-03): models mention them
// although they are told not to. A name that the request itself uses is the user's own word and stays.
func (r *Runtime) userText(t *task, text string) string {
	return toolNames().ReplaceAllStringFunc(text, func(match string) string {
		m := toolNames().FindStringSubmatch(match)
		if strings.Contains(t.request.Text, m[2]) {
			return match
		}
		return m[1] + r.deps.Texts.Text("message.activity."+m[2], nil) + m[3]
	})
}
