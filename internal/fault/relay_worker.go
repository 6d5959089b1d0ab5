package fault

// The codes of relaycodex's worker and its endpoint.
const (
	RelayListenAddress Code = "relay.listen_address"
	RelayEndpoint      Code = "relay.endpoint"        // a request to the endpoint was refused; nothing was executed
	RelayCommand       Code = "relay.command"         // a command was refused by the worker; nothing was sent
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
		"card_ended", "profile", "disabled", "stopping", "already", "unknown_item", "operation", "unconfirmed", "owner"}},
	RelayRefused:      {Category: Validation, Variants: []string{"unknown", "malformed"}},
	RelaySync:         {Category: ResourceLimit, Variants: []string{"overflow", "cursor"}},
	RelayOwnerChanged: {Category: Connection, Variants: []string{"unconfirmed"}},
	RelayInstance:     {Category: Validation, Variants: []string{"several", "unknown", "silent"}},
	RelayInternal:     {Category: Internal},
	ProfileInvalid:    {Category: Validation, Variants: []string{"access"}},
}
