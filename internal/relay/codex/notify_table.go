package codex

// notifications has the decoder of every notification in use.
var notifications = makeNotifications()

type decoder func([]byte) (Notification, error)

func makeNotifications() map[string]decoder {
	table := map[string]decoder{
		"thread/started":                    as[ThreadStarted],
		"thread/status/changed":             as[ThreadStatusChanged],
		"thread/name/updated":               as[ThreadNameUpdated],
		"thread/compacted":                  as[ThreadCompacted],
		"thread/settings/updated":           as[ThreadSettingsUpdated],
		"thread/tokenUsage/updated":         as[TokenUsageUpdated],
		"thread/attachment/updated":         as[AttachmentUpdated],
		"turn/started":                      as[TurnStarted],
		"turn/completed":                    as[TurnDone],
		"turn/diff/updated":                 as[TurnDiff],
		"turn/plan/updated":                 as[TurnPlan],
		"item/started":                      as[ItemStarted],
		"item/completed":                    as[ItemCompleted],
		"item/reasoning/summaryPartAdded":   as[ReasoningPartAdded],
		"item/fileChange/patchUpdated":      as[PatchUpdated],
		"item/mcpToolCall/progress":         as[McpProgress],
		"serverRequest/resolved":            as[RequestResolved],
		"error":                             as[ErrorNote],
		"warning":                           as[Warning],
		"account/updated":                   as[AccountUpdated],
		"account/login/completed":           as[LoginCompleted],
		"account/gatewayOAuth/changed":      as[GatewayOAuthChanged],
		"account/rateLimits/updated":        as[RateLimitsUpdated],
		"mcpServer/startupStatus/updated":   as[McpStartup],
		"mcpServer/oauthLogin/completed":    as[McpOAuthCompleted],
		"model/rerouted":                    as[ModelRerouted],
		"windowsSandbox/setupCompleted":     as[WindowsSetupCompleted],
		"item/reasoning/textDelta":          reasoning[textDelta],
		"item/reasoning/summaryTextDelta":   reasoning[summaryDelta],
		"item/agentMessage/delta":           nil,
		"item/plan/delta":                   nil,
		"item/commandExecution/outputDelta": nil,
		"item/fileChange/outputDelta":       nil,
	}
	for method, d := range table {
		if d == nil {
			table[method] = named(method, func(v *ItemDelta) { v.Name = method })
		}
	}
	for _, method := range threadNotes {
		table[method] = named(method, func(v *ThreadNote) { v.Name = method })
	}
	for _, method := range []string{"configWarning", "deprecationNotice"} {
		table[method] = named(method, func(v *Notice) { v.Name = method })
	}
	return table
}

// as decodes a notification whose type has one method name.
func as[T any, P interface {
	*T
	Notification
}](params []byte) (Notification, error) {
	v, err := Decode[T](params)
	if err != nil {
		return nil, err
	}
	return P(v), nil
}

// named decodes a notification whose type serves several method names.
func named[T any, P interface {
	*T
	Notification
}](_ string, name func(P)) decoder {
	return func(params []byte) (Notification, error) {
		v, err := Decode[T](params)
		if err != nil {
			return nil, err
		}
		name(v)
		return P(v), nil
	}
}

type indexed interface{ delta() *ItemDelta }

func reasoning[T any, P interface {
	*T
	indexed
}](params []byte) (Notification, error) {
	v, err := Decode[T](params)
	if err != nil {
		return nil, err
	}
	return P(v).delta(), nil
}

type textDelta struct {
	ItemDelta
	Content int `json:"contentIndex"`
}

type summaryDelta struct {
	ItemDelta
	Summary int `json:"summaryIndex"`
}

func (d *textDelta) delta() *ItemDelta {
	d.Name, d.Index = "item/reasoning/textDelta", d.Content
	return &d.ItemDelta
}

func (d *summaryDelta) delta() *ItemDelta {
	d.Name, d.Index = "item/reasoning/summaryTextDelta", d.Summary
	return &d.ItemDelta
}
