package fault

// The codes of relaycodex's worker and its endpoint.
const (
	RelayListenAddress Code = "relay.listen_address"
	RelayEndpoint      Code = "relay.endpoint"        // a request to the endpoint was refused; nothing was executed
	RelayCommand       Code = "relay.command"         // a command was refused by the worker; nothing was sent
	RelayServer        Code = "relay.server_error"    // the server answered a call with an error
	RelayOutcome       Code = "relay.outcome_unknown" // sent, and nobody can tell what became of it
	RelayNotSent       Code = "relay.not_sent"        // proven not to have been sent
	RelayRefused       Code = "relay.request_refused" // a request of the server was refused, with the reason
	RelaySync          Code = "relay.sync_failed"
	RelayOwnerChanged  Code = "relay.owner_changed"
	RelayInstance      Code = "relay.instance"
	RelayInternal      Code = "relay.internal"
	ProfileInvalid     Code = "profile.invalid"
)

var workerCatalogue = map[Code]Info{
	RelayListenAddress: {Category: Validation, Variants: []string{"unavailable"}},
	RelayEndpoint: {Category: Validation, Variants: []string{"host", "origin", "method", "content_type", "version", "key", "fetch_site", "streams",
		"too_large", "body", "command", "not_found"}},
	RelayCommand: {Category: Validation, Variants: []string{"not_connected", "unknown_thread", "not_open", "not_joined", "busy", "empty", "no_turn",
		"card_ended", "answer", "profile", "disabled", "stopping", "already", "unknown_item", "operation"}},
	RelayServer:       {Category: Connection, Variants: []string{"writer", "thread", "overloaded", "auth", "turn_ended", "unsupported"}},
	RelayOutcome:      {Category: Connection},
	RelayNotSent:      {Category: Connection},
	RelayRefused:      {Category: Validation, Variants: []string{"secret", "url", "form", "verification", "tool", "unknown", "malformed"}},
	RelaySync:         {Category: ResourceLimit, Variants: []string{"overflow", "read", "cursor"}},
	RelayOwnerChanged: {Category: Connection},
	RelayInstance:     {Category: Validation, Variants: []string{"several", "unknown", "silent"}},
	RelayInternal:     {Category: Internal},
	ProfileInvalid:    {Category: Validation, Variants: []string{"access"}},
}
