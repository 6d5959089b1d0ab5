package fault

import "maps"

// Categories of relaycodex's codes.
const (
	// Connection marks a connection that could not be made, ended, or refused a frame.
	Connection Category = "connection"
	// Call marks a call that has no result, or an answer to the server that was not sent.
	Call Category = "call"
)

// The codes of relaycodex: how a connection fails (R-CONN-05, R-CONN-09, R-CONN-10).
const (
	ConnectionEndpoint         Code = "connection.endpoint"
	ConnectionTokenFile        Code = "connection.token_file"
	ConnectionCAFile           Code = "connection.ca_file"
	ConnectionUnreachable      Code = "connection.unreachable"
	ConnectionCertificate      Code = "connection.certificate"
	ConnectionUnauthorized     Code = "connection.unauthorized"
	ConnectionHandshake        Code = "connection.handshake"
	ConnectionLost             Code = "connection.lost"
	ConnectionClosed           Code = "connection.closed"
	ConnectionProtocol         Code = "connection.protocol"
	ConnectionInboundTooLarge  Code = "connection.inbound_too_large"
	ConnectionOutboundTooLarge Code = "connection.outbound_too_large"
	ConnectionChildStart       Code = "connection.child_start"
	ConnectionUnsupported      Code = "connection.unsupported"
)

// The codes of finding the CLI and judging its contract (R-CONN-10, R-CON-02, R-CON-06).
const (
	CodexNotFound   Code = "codex.not_found"
	CodexNoBinary   Code = "codex.no_binary"
	CodexUnusable   Code = "codex.unusable"
	ContractFailed  Code = "contract.failed"
	ContractDigest  Code = "contract.digest"
	ContractMissing Code = "contract.not_generated"
)

// The codes of calls and of answers to the server's requests (R-REC-07, R-INT-01).
const (
	CallNotSent        Code = "call.not_sent"
	CallOutcomeUnknown Code = "call.outcome_unknown"
	CallRejected       Code = "call.rejected"
	RequestGone        Code = "request.gone"
	RequestRefused     Code = "request.refused"
	AnswerInvalid      Code = "answer.invalid"
)

var relayCatalogue = map[Code]Info{
	CallNotSent:        {Category: Call, Variants: []string{"cancelled", "closed", "timeout", "unsupported"}},
	CallOutcomeUnknown: {Category: Call, Variants: []string{"cancelled", "cut", "timeout", "malformed"}},
	CallRejected:       {Category: Call, Variants: []string{"overloaded", "writer_conflict", "turn_over", "thread_not_found", "auth_required"}},
	RequestGone:        {Category: Call, Variants: []string{"answered", "resolved", "ended", "closed"}},
	RequestRefused:     {Category: Call, Variants: []string{"secret", "permission", "url", "form", "verification", "too_large", "approval"}},
	AnswerInvalid: {Category: Validation, Variants: []string{"required", "type", "length", "range", "format", "count", "choice", "not_asked",
		"unseen", "too_large"}},

	ConnectionEndpoint:         {Category: Validation, Variants: []string{"plain", "credentials"}},
	ConnectionTokenFile:        {Category: Validation},
	ConnectionCAFile:           {Category: Validation},
	ConnectionUnreachable:      {Category: Connection, Variants: []string{"timeout"}},
	ConnectionCertificate:      {Category: Connection},
	ConnectionUnauthorized:     {Category: Connection, Variants: []string{"forbidden"}},
	ConnectionHandshake:        {Category: Connection},
	ConnectionLost:             {Category: Connection, Variants: []string{"silent", "child_exited", "closed_by_server"}},
	ConnectionClosed:           {Category: Connection},
	ConnectionProtocol:         {Category: Connection},
	ConnectionInboundTooLarge:  {Category: ResourceLimit},
	ConnectionOutboundTooLarge: {Category: ResourceLimit},
	ConnectionChildStart:       {Category: Connection},
	ConnectionUnsupported:      {Category: Validation},
	CodexNotFound:              {Category: Validation, Variants: []string{"path"}},
	CodexNoBinary:              {Category: Validation},
	CodexUnusable:              {Category: Validation},
	ContractFailed:             {Category: Validation},
	ContractDigest:             {Category: Validation},
	ContractMissing:            {Category: Validation},
}

var catalogue = merged(agentCatalogue, relayCatalogue, workerCatalogue)

func merged(parts ...map[Code]Info) map[Code]Info {
	all := map[Code]Info{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}
