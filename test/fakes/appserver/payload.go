package appserver

// Object is a JSON object.
type Object map[string]any

// The payloads below have every member that the real 0.159.1 sends, with the least in them.

const (
	// Dir is the working directory of every thread.
	Dir  = "/home/dev/work"
	when = 1_796_061_954 // seconds; recorded
)

// InitializeResult is the answer to initialize.
func InitializeResult(version string) Object {
	return Object{"userAgent": "relaycodex/" + version + " (Debian 12.0.0; x86_64) xterm (relaycodex; 0.1.0)", "codexHome": "/home/dev/.codex", "platformFamily": "unix", "platformOs": "linux"}
}

// Thread is an idle, empty thread; status as of Status.
func Thread(id string) Object {
	return Object{
		"id": id, "environments": []any{Object{"environmentId": "local", "cwd": Dir, "runtimeWorkspaceRoots": []any{Dir}}}, "extra": nil, "sessionId": id,
		"forkedFromId": nil, "parentThreadId": nil, "preview": "", "ephemeral": false, "section": nil, "sectionEnteredAt": nil, "projectId": nil,
		"historyMode": "paginated", "modelProvider": "fake", "model": "fake-model", "reasoningEffort": nil, "createdAt": when, "updatedAt": when, "recencyAt": when,
		"status": Object{"type": "idle"}, "path": "/home/dev/.codex/sessions/" + id + ".jsonl", "cwd": Dir, "cliVersion": "0.159.1", "originator": "relaycodex",
		"source": "vscode", "canAcceptDirectInput": true, "threadSource": nil, "agentNickname": nil, "agentRole": nil, "gitInfo": nil, "name": nil,
		"daybreakEnabled": nil, "turns": []any{},
	}
}

// Status is a thread's status: Status() is idle, with flags it is active and waiting.
func Status(active bool, flags ...string) Object {
	if !active {
		return Object{"type": "idle"}
	}
	if flags == nil {
		flags = []string{}
	}
	return Object{"type": "active", "activeFlags": flags}
}

// ThreadResult answers thread/start and thread/resume.
func ThreadResult(thread Object) Object {
	return Object{
		"thread": thread, "model": "fake-model", "modelProvider": "fake", "serviceTier": nil, "disabledPluginIds": []any{}, "cwd": Dir,
		"runtimeWorkspaceRoots": []any{Dir}, "instructionSources": []any{}, "approvalPolicy": "on-request", "approvalsReviewer": "user",
		"sandbox": Object{"type": "readOnly", "networkAccess": false}, "activePermissionProfile": nil, "reasoningEffort": nil, "multiAgentMode": "explicitRequestOnly",
	}
}

// Turn is a turn; status is inProgress, completed, interrupted or failed.
func Turn(id, status string, items ...any) Object {
	view := "summary"
	if len(items) == 0 {
		items, view = []any{}, "notLoaded"
	}
	turn := Object{"id": id, "items": items, "itemsView": view, "status": status, "error": nil, "startedAt": when, "completedAt": nil, "durationMs": nil}
	if status != "inProgress" {
		turn["completedAt"], turn["durationMs"] = when+1, 1000
	}
	return turn
}

// UserMessage is an item; clientID is clientUserMessageId, or nil.
func UserMessage(id string, clientID any, text string) Object {
	return Object{"type": "userMessage", "id": id, "clientId": clientID, "content": []any{Object{"type": "text", "text": text, "text_elements": []any{}}}}
}

// AgentMessage is an item.
func AgentMessage(id, text string) Object {
	return Object{"type": "agentMessage", "id": id, "text": text, "phase": nil, "memoryCitation": nil, "delivery": nil, "questions": nil}
}

// Command is an item; status is inProgress, completed, failed or declined.
func Command(id, status, command string) Object {
	c := Object{"type": "commandExecution", "id": id, "pluginId": nil, "scriptPath": nil, "command": "/bin/bash -lc '" + command + "'", "cwd": Dir,
		"processId": "1", "source": "agent", "status": status, "commandActions": []any{Object{"type": "unknown", "command": command}},
		"aggregatedOutput": nil, "exitCode": nil, "durationMs": nil}
	if status == "completed" {
		c["aggregatedOutput"], c["exitCode"], c["durationMs"] = "ok\n", 0, 10
	}
	return c
}

// FileChange is an item; status as of Command.
func FileChange(id, status string) Object {
	return Object{"type": "fileChange", "id": id, "status": status, "changes": []any{
		Object{"path": Dir + "/README.md", "kind": Object{"type": "update", "move_path": nil}, "diff": "@@ -1 +1 @@\n-hi\n+hello\n"}}}
}

// Page answers thread/list, thread/turns/list, thread/items/list and thread/attachment/list; next is the cursor, or nil.
func Page(next any, data ...any) Object {
	if data == nil {
		data = []any{}
	}
	return Object{"data": data, "nextCursor": next, "backwardsCursor": nil}
}

// Entry is one element of thread/items/list.
func Entry(turn string, item Object) Object {
	return Object{"turnId": turn, "item": item, "startedAtMs": when * 1000, "completedAtMs": when*1000 + 1}
}

// Of names a turn of a thread.
type Of struct{ Thread, Turn string }

func (o Of) with(members Object) Object {
	all := Object{"threadId": o.Thread, "turnId": o.Turn}
	for name, value := range members {
		all[name] = value
	}
	return all
}

// TurnStarted and its siblings are notifications of the turn.
func (o Of) TurnStarted() Step {
	return Notify("turn/started", Object{"threadId": o.Thread, "turn": Turn(o.Turn, "inProgress")})
}

// TurnCompleted ends the turn with a status.
func (o Of) TurnCompleted(status string, items ...any) Step {
	return Notify("turn/completed", Object{"threadId": o.Thread, "turn": Turn(o.Turn, status, items...)})
}

// Started starts an item.
func (o Of) Started(item Object) Step {
	return Notify("item/started", o.with(Object{"item": item, "startedAtMs": when * 1000}))
}

// Completed ends an item.
func (o Of) Completed(item Object) Step {
	return Notify("item/completed", o.with(Object{"item": item, "completedAtMs": when*1000 + 1}))
}

// Delta adds text to an agent message.
func (o Of) Delta(item, text string) Step {
	return Notify("item/agentMessage/delta", o.with(Object{"itemId": item, "delta": text}))
}

// StatusChanged is thread/status/changed.
func (o Of) StatusChanged(status Object) Step {
	return Notify("thread/status/changed", Object{"threadId": o.Thread, "status": status})
}

// Resolved is serverRequest/resolved.
func (o Of) Resolved(id any) Step {
	return Notify("serverRequest/resolved", Object{"threadId": o.Thread, "requestId": id})
}
