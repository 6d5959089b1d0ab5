package codex

import "reflect"

// notifications has the decoder of every notification in use, notificationTypes the Go type that it fills.
var notifications, notificationTypes = makeNotifications()

type decoder func([]byte) (Notification, error)

type entry struct {
	decode decoder
	typ    reflect.Type
}

func makeNotifications() (map[string]decoder, map[string]reflect.Type) {
	table := map[string]entry{
		"thread/started":                  {as[ThreadStarted], typ[ThreadStarted]()},
		"thread/status/changed":           {as[ThreadStatusChanged], typ[ThreadStatusChanged]()},
		"thread/name/updated":             {as[ThreadNameUpdated], typ[ThreadNameUpdated]()},
		"thread/compacted":                {as[ThreadCompacted], typ[ThreadCompacted]()},
		"thread/settings/updated":         {as[ThreadSettingsUpdated], typ[ThreadSettingsUpdated]()},
		"thread/tokenUsage/updated":       {as[TokenUsageUpdated], typ[TokenUsageUpdated]()},
		"thread/attachment/updated":       {as[AttachmentUpdated], typ[AttachmentUpdated]()},
		"turn/started":                    {as[TurnStarted], typ[TurnStarted]()},
		"turn/completed":                  {as[TurnDone], typ[TurnDone]()},
		"turn/diff/updated":               {as[TurnDiff], typ[TurnDiff]()},
		"turn/plan/updated":               {as[TurnPlan], typ[TurnPlan]()},
		"item/started":                    {as[ItemStarted], typ[ItemStarted]()},
		"item/completed":                  {as[ItemCompleted], typ[ItemCompleted]()},
		"item/reasoning/summaryPartAdded": {as[ReasoningPartAdded], typ[ReasoningPartAdded]()},
		"item/fileChange/patchUpdated":    {as[PatchUpdated], typ[PatchUpdated]()},
		"item/mcpToolCall/progress":       {as[McpProgress], typ[McpProgress]()},
		"serverRequest/resolved":          {as[RequestResolved], typ[RequestResolved]()},
		"error":                           {as[ErrorNote], typ[ErrorNote]()},
		"configWarning":                   {as[ConfigWarning], typ[ConfigWarning]()},
		"deprecationNotice":               {as[DeprecationNotice], typ[DeprecationNotice]()},
		"warning":                         {as[Warning], typ[Warning]()},
		"account/updated":                 {as[AccountUpdated], typ[AccountUpdated]()},
		"account/login/completed":         {as[LoginCompleted], typ[LoginCompleted]()},
		"account/gatewayOAuth/changed":    {as[GatewayOAuthChanged], typ[GatewayOAuthChanged]()},
		"account/rateLimits/updated":      {as[RateLimitsUpdated], typ[RateLimitsUpdated]()},
		"mcpServer/startupStatus/updated": {as[McpStartup], typ[McpStartup]()},
		"mcpServer/oauthLogin/completed":  {as[McpOAuthCompleted], typ[McpOAuthCompleted]()},
		"model/rerouted":                  {as[ModelRerouted], typ[ModelRerouted]()},
		"windowsSandbox/setupCompleted":   {as[WindowsSetupCompleted], typ[WindowsSetupCompleted]()},
		"item/reasoning/textDelta":        {reasoning[textDelta], typ[textDelta]()},
		"item/reasoning/summaryTextDelta": {reasoning[summaryDelta], typ[summaryDelta]()},
	}
	for _, method := range textDeltas {
		table[method] = entry{named(func(v *ItemDelta) { v.Name = method }), typ[ItemDelta]()}
	}
	for _, method := range threadNotes {
		table[method] = entry{named(func(v *ThreadNote) { v.Name = method }), typ[ThreadNote]()}
	}
	decoders, types := map[string]decoder{}, map[string]reflect.Type{}
	for method, e := range table {
		decoders[method], types[method] = e.decode, e.typ
	}
	return decoders, types
}

// Method names that share a type.
var (
	threadNotes = []string{"thread/closed", "thread/archived", "thread/unarchived", "thread/deleted", "thread/reverted",
		"thread/queue/changed", "thread/goal/cleared"}
	textDeltas = []string{"item/agentMessage/delta", "item/plan/delta", "item/commandExecution/outputDelta", "item/fileChange/outputDelta"}
)

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
}](name func(P)) decoder {
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
