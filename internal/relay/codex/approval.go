package codex

import (
	"encoding/json"
	"slices"
	"strings"

	"sekisho/internal/relay"
)

// CommandApproval is item/commandExecution/requestApproval.
type CommandApproval struct {
	ThreadID    relay.ThreadID `json:"threadId"`
	TurnID      relay.TurnID   `json:"turnId"`
	ItemID      relay.ItemID   `json:"itemId"`
	StartedAtMs int64          `json:"startedAtMs"`
	// Kind is "command" (also when absent) or "writeStdin".
	Kind ApprovalKind `json:"kind,omitzero"`
	// ApprovalID tells apart several requests for one item.
	ApprovalID            string             `json:"approvalId,omitzero"`
	Command               string             `json:"command,omitzero"`
	Cwd                   string             `json:"cwd,omitzero"`
	Reason                string             `json:"reason,omitzero"`
	EnvironmentID         string             `json:"environmentId,omitzero"`
	CommandActions        []CommandAction    `json:"commandActions,omitzero"`
	Network               *NetworkContext    `json:"networkApprovalContext,omitzero"`
	AdditionalPermissions *Permissions       `json:"additionalPermissions,omitzero"`
	ProposedExecpolicy    []string           `json:"proposedExecpolicyAmendment,omitzero"`
	ProposedNetwork       []NetworkAmendment `json:"proposedNetworkPolicyAmendments,omitzero"`
	// Available are the server's choices, in its order; nil when it sent none. Use Choices.
	Available []Decision `json:"availableDecisions,omitzero"`
}

// empty reports whether there is nothing in the request that a person could judge.
func (r *CommandApproval) empty() bool {
	p := r.AdditionalPermissions
	files := p != nil && p.FileSystem != nil && len(p.FileSystem.Read)+len(p.FileSystem.Write)+len(p.FileSystem.Entries) > 0
	network := p != nil && p.Network != nil && p.Network.Enabled != nil && *p.Network.Enabled
	command := r.Command
	if r.Kind != KindWriteStdin { // for which an end of line is much
		command = strings.TrimSpace(command)
	}
	return command == "" && r.Network == nil && !files && !network
}

// Choices are the decisions that a person may be offered: exactly the server's, or, where it listed none, those of its
// schema that need no further data (R-INT-03).
func (r *CommandApproval) Choices() []Decision {
	if r.Available != nil {
		return slices.Clone(r.Available)
	}
	return []Decision{{Kind: Accept}, {Kind: AcceptForSession}, {Kind: Decline}, {Kind: Cancel}}
}

// ApprovalKind is what a command approval is about.
type ApprovalKind string

// The kinds.
const (
	KindCommand    ApprovalKind = "command"
	KindWriteStdin ApprovalKind = "writeStdin"
)

func (ApprovalKind) values() []string { return []string{string(KindCommand), string(KindWriteStdin)} }

// CommandAction is the server's own reading of a command: a hint for display, no fact.
type CommandAction struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Name    string `json:"name,omitzero"`
	Path    string `json:"path,omitzero"`
	Query   string `json:"query,omitzero"`
}

func (CommandAction) variants() Variants {
	return Variants{Tag: "type", Open: true, Required: map[string][]string{
		"read": {"name", "path"}, "listFiles": nil, "search": nil, "unknown": nil}}
}

// NetworkContext is the host a network approval is about.
type NetworkContext struct {
	Host     string          `json:"host"`
	Protocol NetworkProtocol `json:"protocol"`
}

// NetworkProtocol is a closed enumeration: http, https, socks5Tcp, socks5Udp.
type NetworkProtocol string

func (NetworkProtocol) values() []string { return []string{"http", "https", "socks5Tcp", "socks5Udp"} }

// NetworkAmendment is a lasting rule for one host.
type NetworkAmendment struct {
	Host   string     `json:"host"`
	Action RuleAction `json:"action"`
}

// RuleAction is allow or deny.
type RuleAction string

func (RuleAction) values() []string { return []string{"allow", "deny"} }

// DecisionKind names a decision; the last two change the server's rules for good and carry data.
type DecisionKind string

// The decisions of a command approval. File changes know the first four.
const (
	Accept           DecisionKind = "accept"
	AcceptForSession DecisionKind = "acceptForSession"
	Decline          DecisionKind = "decline"
	Cancel           DecisionKind = "cancel"
	AcceptExecpolicy DecisionKind = "acceptWithExecpolicyAmendment"
	ApplyNetwork     DecisionKind = "applyNetworkPolicyAmendment"
)

// Decision is one choice. Its wire form is a string, or an object with the kind as its only member.
type Decision struct {
	Kind DecisionKind
	// Execpolicy is the argument prefix of AcceptExecpolicy: commands that start with it run without asking from then on.
	Execpolicy []string
	// Network is the rule of ApplyNetwork.
	Network *NetworkAmendment
}

// ChangesRules reports whether d has an effect beyond this session.
func (d Decision) ChangesRules() bool { return d.Kind == AcceptExecpolicy || d.Kind == ApplyNetwork }

// Equal compares kind and data.
func (d Decision) Equal(o Decision) bool {
	if d.Kind != o.Kind || !slices.Equal(d.Execpolicy, o.Execpolicy) || (d.Network == nil) != (o.Network == nil) {
		return false
	}
	return d.Network == nil || *d.Network == *o.Network
}

type execpolicyWire struct {
	Amendment []string `json:"execpolicy_amendment"`
}

type networkWire struct {
	Amendment NetworkAmendment `json:"network_policy_amendment"`
}

// MarshalJSON implements json.Marshaler.
func (d Decision) MarshalJSON() ([]byte, error) {
	switch d.Kind {
	case Accept, AcceptForSession, Decline, Cancel:
		return json.Marshal(string(d.Kind))
	case AcceptExecpolicy:
		return Encode(map[string]execpolicyWire{string(d.Kind): {d.Execpolicy}})
	case ApplyNetwork:
		if d.Network != nil {
			return Encode(map[string]networkWire{string(d.Kind): {*d.Network}})
		}
	}
	return nil, bad("decision", "is none of the known values")
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Decision) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		switch k := DecisionKind(s); k {
		case Accept, AcceptForSession, Decline, Cancel:
			*d = Decision{Kind: k}
			return nil
		}
		return bad("decision", "is none of the known values")
	}
	object, err := Decode[map[string]Raw](data)
	if err != nil || len(*object) != 1 {
		return bad("decision", "is neither a string nor an object with one member")
	}
	if raw, ok := (*object)[string(AcceptExecpolicy)]; ok {
		w, err := Decode[execpolicyWire](raw)
		if err != nil {
			return err
		}
		if len(w.Amendment) == 0 {
			return bad("execpolicy_amendment", "is empty, which every command starts with")
		}
		*d = Decision{Kind: AcceptExecpolicy, Execpolicy: w.Amendment}
		return nil
	}
	if raw, ok := (*object)[string(ApplyNetwork)]; ok {
		w, err := Decode[networkWire](raw)
		if err != nil {
			return err
		}
		if w.Amendment.Host == "" {
			return bad("network_policy_amendment", "names no host")
		}
		*d = Decision{Kind: ApplyNetwork, Network: &w.Amendment}
		return nil
	}
	return bad("decision", "is none of the known values")
}

// FileApproval is item/fileChange/requestApproval. The changes themselves are in the item of the same id.
type FileApproval struct {
	ThreadID    relay.ThreadID `json:"threadId"`
	TurnID      relay.TurnID   `json:"turnId"`
	ItemID      relay.ItemID   `json:"itemId"`
	StartedAtMs int64          `json:"startedAtMs"`
	Reason      string         `json:"reason,omitzero"`
	// GrantRoot, when set, asks for write access below that server path for the rest of the session.
	GrantRoot string `json:"grantRoot,omitzero"`
}

// Choices are the decisions of the schema; this request lists none.
func (r *FileApproval) Choices() []Decision {
	return []Decision{{Kind: Accept}, {Kind: AcceptForSession}, {Kind: Decline}, {Kind: Cancel}}
}

// DecisionReply answers CommandApproval and FileApproval.
type DecisionReply struct {
	Decision Decision `json:"decision"`
}
