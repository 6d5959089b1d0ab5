package codex

import (
	"maps"
	"reflect"
	"slices"
)

// What the Go types promise, for the comparison with a generated contract.

// Member is one JSON member of a struct type.
type Member struct {
	Name               string
	Type               reflect.Type
	Optional, Nullable bool
}

// MembersOf lists the JSON members of a struct type.
func MembersOf(t reflect.Type) []Member {
	var out []Member
	for _, m := range members(t) {
		out = append(out, Member{m.name, m.typ, m.optional, m.nullable})
	}
	return out
}

// ValuesOf returns the values of a closed enumeration; false for any other type.
func ValuesOf(t reflect.Type) ([]string, bool) {
	if e, ok := reflect.Zero(t).Interface().(enumeration); ok {
		return e.values(), true
	}
	return nil, false
}

// VariantsOf returns the variants of a tagged union; false for any other type.
func VariantsOf(t reflect.Type) (Variants, bool) {
	if u, ok := reflect.Zero(t).Interface().(union); ok {
		return u.variants(), true
	}
	return Variants{}, false
}

// ItemTypes returns the Go type of every item type that has one.
func ItemTypes() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for name, newBody := range itemBodies {
		types[name] = reflect.TypeOf(newBody()).Elem()
	}
	return types
}

// Message is one notification or server request that this client reads, with the type name of its params in the generated
// contract and, for a request, the type of the answer.
type Message struct {
	Name      string
	Params    reflect.Type
	Reply     reflect.Type // nil for a notification
	ReplyName string
	// Since155 reports whether the regression version has it too.
	Since155 bool
}

// ServerRequests lists the requests that are handled.
func ServerRequests() []Message {
	return []Message{
		{MethodCommandApproval, typ[CommandApproval](), typ[DecisionReply](), "CommandExecutionRequestApprovalResponse", true},
		{MethodFileApproval, typ[FileApproval](), typ[DecisionReply](), "FileChangeRequestApprovalResponse", true},
		{MethodPermissionsApproval, typ[PermissionsApproval](), typ[PermissionsReply](), "PermissionsRequestApprovalResponse", true},
		{MethodUserInput, typ[UserInputRequest](), typ[UserInputReply](), "ToolRequestUserInputResponse", true},
		{MethodElicitation, typ[Elicitation](), typ[ElicitReply](), "McpServerElicitationRequestResponse", true},
	}
}

// RefusedRequests lists the requests that are known and always refused by error, legacy ones included.
func RefusedRequests() []string {
	return append(slices.Sorted(maps.Keys(refused)), "applyPatchApproval", "currentTime/read", "execCommandApproval")
}

// Notifications lists the notifications that are decoded, in order.
func Notifications() []Message {
	var out []Message
	for _, name := range slices.Sorted(maps.Keys(notifications)) {
		out = append(out, Message{Name: name, Params: notificationTypes[name], Since155: name != "account/gatewayOAuth/changed"})
	}
	return out
}

// KnownNotifications lists every notification of the pinned contracts, used or not.
func KnownNotifications() []string { return slices.Sorted(maps.Keys(knownNotifications)) }
