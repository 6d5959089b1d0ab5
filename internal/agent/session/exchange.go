package session

import (
	"fmt"
	"slices"
	"strings"

	"sekisho/internal/agent"
)

// Exchange is the conversation with the model inside one running planner task: replies, tool results, observations. Calls
// and results are kept together, so that no shortening ever unpairs them (A-OLL-08).
type Exchange struct {
	groups  []group
	dropped []string // short notes of groups that a summary removed
}

// group is one reply of the model with what answered it.
type group struct{ messages []agent.Message }

// AddCalls appends a reply with tool calls and exactly one result message per call, in order.
func (x *Exchange) AddCalls(reply agent.Message, results []agent.Message) {
	x.groups = append(x.groups, group{append([]agent.Message{reply}, results...)})
}

// AddText appends a reply without calls and the observation that answers it. It ends the tool-call exchange: reasoning of
// earlier replies is forgotten (A-OLL-04).
func (x *Exchange) AddText(reply agent.Message, observation string) {
	x.forget()
	reply.Thinking = ""
	g := group{}
	if strings.TrimSpace(reply.Content) != "" {
		g.messages = append(g.messages, reply)
	}
	g.messages = append(g.messages, agent.Message{Role: "user", Content: observation})
	x.groups = append(x.groups, g)
}

// Messages returns the exchange, oldest first.
func (x *Exchange) Messages() []agent.Message {
	var out []agent.Message
	for _, g := range x.groups {
		out = append(out, g.messages...)
	}
	return slices.Clip(out)
}

func (x *Exchange) forget() {
	for _, g := range x.groups {
		for i := range g.messages {
			g.messages[i].Thinking = ""
		}
	}
}

// shrink removes all groups but the last, of which it shortens what the tools returned. It reports what is gone as notes.
func (x *Exchange) shrink(limit int) {
	x.forget()
	for len(x.groups) > 1 {
		x.dropped = keep(append(x.dropped, x.groups[0].note()...), maxFacts)
		x.groups = x.groups[1:]
	}
	for _, g := range x.groups {
		for i := range g.messages {
			g.messages[i].Content = Cut(g.messages[i].Content, limit)
		}
	}
}

// note tells what a removed group did, without the contents that made it large.
func (g group) note() []string {
	var notes []string
	calls := g.messages[0].ToolCalls
	for i, m := range g.messages {
		if m.Role != "tool" {
			continue
		}
		line := m.ToolName
		if i-1 < len(calls) {
			line += " " + Cut(string(calls[i-1].Arguments), 300)
		}
		notes = append(notes, line+" -> "+Cut(m.Content, 200))
	}
	return notes
}

// Cut shortens text to about limit bytes by removing its middle, and says how much is missing.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head := strings.ToValidUTF8(text[:limit*2/3], "")
	tail := strings.ToValidUTF8(text[len(text)-limit/3:], "")
	return fmt.Sprintf("%s\n[... %d bytes left out here ...]\n%s", head, len(text)-len(head)-len(tail), tail)
}
