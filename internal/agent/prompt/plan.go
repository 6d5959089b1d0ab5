package prompt

import (
	"strings"

	"sekisho/internal/agent"
)

// Plan is what the context of a planning or replanning call is composed of.
type Plan struct {
	Frame    Frame
	Contract string // PlannerContract or ReplanContract
	Request  string
	Images   []agent.Image
}

// Messages composes the planning context (A-SES-06): the contract first, then only locale instruction, skill list,
// capability summary and original request. Fixed and user system prompt are left out, because they ask for tool use.
func (p Plan) Messages() []agent.Message {
	parts := []string{section("Language", Locale(p.Frame.Locale))}
	if p.Frame.Skills != "" {
		parts = append(parts, section("Skills", p.Frame.Skills))
	}
	parts = append(parts, section("Capabilities", p.Frame.Capability.String()))
	return []agent.Message{
		{Role: "system", Content: p.Contract},
		{Role: "system", Content: strings.Join(parts, "\n\n")},
		{Role: "user", Content: section("Original request", p.Request), Images: p.Images},
	}
}
