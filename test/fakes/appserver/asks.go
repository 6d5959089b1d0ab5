package appserver

// The server requests that people answer, as recorded.

// CommandApproval asks for a command. decisions are the choices offered; nil are those that the real server offered.
func (o Of) CommandApproval(item, command string, decisions ...any) Step {
	if decisions == nil {
		decisions = []any{"accept", Object{"acceptWithExecpolicyAmendment": Object{"execpolicy_amendment": []any{"touch"}}}, "cancel"}
	}
	return Request("item/commandExecution/requestApproval", o.with(Object{
		"kind": "command", "itemId": item, "startedAtMs": when * 1000, "environmentId": "local", "reason": "need it", "command": "/bin/bash -lc '" + command + "'", "cwd": Dir,
		"commandActions": []any{Object{"type": "unknown", "command": command}}, "proposedExecpolicyAmendment": []any{"touch"}, "availableDecisions": decisions,
	}))
}

// FileApproval asks for the changes of a fileChange item.
func (o Of) FileApproval(item string) Step {
	return Request("item/fileChange/requestApproval", o.with(Object{"itemId": item, "startedAtMs": when * 1000, "reason": nil, "grantRoot": nil}))
}

// Permissions asks for the network and for writing Dir.
func (o Of) Permissions(item string) Step {
	return Request("item/permissions/requestApproval", o.with(Object{
		"itemId": item, "environmentId": "local", "startedAtMs": when * 1000, "cwd": Dir, "reason": "need write",
		"permissions": Object{"network": Object{"enabled": true}, "fileSystem": Object{"read": nil, "write": []any{Dir},
			"entries": []any{Object{"path": Object{"type": "path", "path": Dir}, "access": "write"}}}},
	}))
}

// Question asks one question with two options; secret and blocking as said.
func (o Of) Question(item string, secret, blocking bool) Step {
	return Request("item/tool/requestUserInput", o.with(Object{
		"itemId": item, "isBlocking": blocking, "autoResolutionMs": nil,
		"questions": []any{Object{"id": "q1", "header": "Pick", "question": "Which?", "isOther": true, "isSecret": secret,
			"options": []any{Object{"label": "A (Recommended)", "description": "first"}, Object{"label": "B", "description": "second"}}}},
	}))
}

func (o Of) elicit(members Object) Step {
	all := o.with(Object{"serverName": "elicit", "_meta": nil, "message": "Please fill"})
	for name, value := range members {
		all[name] = value
	}
	return Request("mcpServer/elicitation/request", all)
}

// Form elicits a form with a field of each kind.
func (o Of) Form() Step {
	return o.elicit(Object{"mode": "form", "requestedSchema": Object{"type": "object", "required": []any{"name", "age"}, "properties": Object{
		"age": Object{"type": "integer", "minimum": 0, "maximum": 150}, "agree": Object{"type": "boolean", "default": true}, "color": Object{"type": "string", "enum": []any{"red", "green"}},
		"email": Object{"type": "string", "format": "email"}, "name": Object{"type": "string", "title": "Name", "minLength": 2, "maxLength": 10}, "score": Object{"type": "number"},
		"opts": Object{"type": "array", "items": Object{"anyOf": []any{Object{"const": "x", "title": "X"}, Object{"const": "y", "title": "Y"}}}},
		"size": Object{"type": "string", "oneOf": []any{Object{"const": "s", "title": "Small"}, Object{"const": "l", "title": "Large"}}},
		"tags": Object{"type": "array", "minItems": 1, "maxItems": 2, "items": Object{"type": "string", "enum": []any{"a", "b", "c"}}},
	}}})
}

// URL elicits a visit to an address.
func (o Of) URL(address string) Step {
	return o.elicit(Object{"mode": "url", "message": "Open this", "url": address, "elicitationId": "el-1"})
}

// ToolApproval is how an MCP tool call asks for approval: a form without fields, told by its _meta only.
func (o Of) ToolApproval(tool string) Step {
	return o.elicit(Object{"mode": "form", "message": `Allow the elicit MCP server to run tool "` + tool + `"?`, "requestedSchema": Object{"type": "object", "properties": Object{}},
		"_meta": Object{"codex_approval_kind": "mcp_tool_call", "persist": []any{"session", "always"}, "tool_description": "destructive", "tool_params": Object{}, "tool_params_display": []any{}}})
}
