//go:build linux

package main

import (
	"fmt"
	"maps"
	"strings"

	"sekisho/test/fakes/appserver"
)

func init() { maps.Copy(parts, cardParts) }

// cardParts are scripts of cards that say more than fits on a screen, and of cards that come and go beside others.
var cardParts = map[string]func() appserver.Script{
	// A harmless command, and a rule whose words are more than anybody reads in a button.
	"longrule": func() appserver.Script {
		words := []any{}
		for i := range 700 {
			words = append(words, fmt.Sprintf("harmless-%04d", i))
		}
		return begun(ruled("c1", appserver.Object{"acceptWithExecpolicyAmendment": appserver.Object{"execpolicy_amendment": append(words, "rm -rf ~")}}), hold("on"))
	},
	// The same with a rule for a host.
	"longhost": func() appserver.Script {
		host := strings.Repeat("harmless.", 1000) + "evil.example"
		return begun(ruled("c1", appserver.Object{"applyNetworkPolicyAmendment": appserver.Object{"network_policy_amendment": appserver.Object{"host": host, "action": "allow"}}}), hold("on"))
	},
	// A form whose suggestion and whose options are more than their controls show.
	"longform": func() appserver.Script {
		ask := appserver.Request("mcpServer/elicitation/request", appserver.Object{"threadId": of.Thread, "turnId": of.Turn, "serverName": "elicit", "_meta": nil, "message": "Please fill", "mode": "form",
			"requestedSchema": appserver.Object{"type": "object", "required": []any{"note"}, "properties": appserver.Object{
				"note": appserver.Object{"type": "string", "default": strings.Repeat("harmless ", 1000) + "and all of it"},
				"what": appserver.Object{"type": "string", "enum": []any{"a little", strings.Repeat("very ", 20) + "much"}},
			}}})
		return begun(appserver.Script{ask}, hold("on"))
	},
	// A card of more than the dock shows, and one below it that goes away.
	"below": func() appserver.Script {
		return begun(appserver.Script{lines("c1", 30), lines("c2", 1).WithID("other")}, hold("gone"), appserver.Script{of.Resolved("other")}, hold("on"))
	},
	// A card that the dock shows whole, and two below it, of which the first goes away.
	"between": func() appserver.Script {
		return begun(appserver.Script{lines("c1", 1), lines("c2", 1).WithID("other"), lines("c3", 30)}, hold("gone"), appserver.Script{of.Resolved("other")}, hold("on"))
	},
}

// ruled asks for a command that does nothing, with a choice that makes a rule of it.
func ruled(item string, rule appserver.Object) appserver.Script {
	return appserver.Script{of.Started(appserver.Command(item, "inProgress", "ls")), of.CommandApproval(item, "ls", "accept", rule, "cancel")}
}

// lines asks for a command of so many lines.
func lines(item string, n int) appserver.Step {
	return of.CommandApproval(item, "true"+strings.Repeat("\ntrue", n-1), "accept", "decline", "cancel")
}
