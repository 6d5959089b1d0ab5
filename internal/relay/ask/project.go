package ask

import (
	"bytes"
	"slices"
	"strconv"

	"sekisho/internal/fault"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/rpc"
)

// Facts is what is known beside the request itself.
type Facts struct {
	// Changes are those of the file-change item that a file approval is about; none when the item was never seen.
	Changes []codex.FileUpdate
	// Cut says that Changes are not whole. Then nobody can accept.
	Cut bool
}

// project fills the parts of a card that depend on the request. A refusal is returned with the answer that goes on the
// wire; then nothing of the request is in the card.
func project(c *Card, req rpc.Request, facts Facts) *refusal {
	var r *refusal
	switch body := req.Body.(type) {
	case *codex.CommandApproval:
		r = projectCommand(c, body, req.Asked)
	case *codex.FileApproval:
		c.Kind, c.File, c.Choices = FileCard, &FileView{Reason: optional(body.Reason), GrantRoot: optional(body.GrantRoot)}, choices(body.Choices())
		describe(c.File, facts.Changes, facts.Cut)
	case *codex.PermissionsApproval:
		r = projectPermissions(c, body, req.Asked)
	case *codex.UserInputRequest:
		r = projectQuestions(c, body)
	case *codex.Elicitation:
		r = projectElicitation(c, body)
	default:
		r = &refusal{reason: fault.New(fault.RequestRefused), code: codex.CodeMethodNotFound}
	}
	if r == nil {
		if n := c.size(); n > MaxShown {
			r = &refusal{reason: fault.New(fault.RequestRefused, fault.Variant("too_large"), fault.Arg("size", n)), code: codex.CodeInvalidParams}
			if _, ok := req.Body.(*codex.Elicitation); ok {
				r.decline()
			}
		}
	}
	if r != nil {
		*c = Card{Key: c.Key, Order: c.Order, Kind: RefusedCard, State: Refused, Owner: c.Owner, Profile: c.Profile, Host: c.Host,
			Thread: c.Thread, Turn: c.Turn, Item: c.Item, Refusal: r.reason}
	}
	return r
}

// refusal is a request that no person is asked about: why, and the answer: a result, or an error with a code.
type refusal struct {
	reason *fault.Error
	result any
	code   int
}

func (r *refusal) decline() *refusal {
	r.result = codex.ElicitReply{Action: codex.ElicitDecline}
	return r
}

func projectCommand(c *Card, r *codex.CommandApproval, asked []byte) *refusal {
	v := &CommandView{Stdin: r.Kind == codex.KindWriteStdin, Line: literal(r.Command), Cwd: literal(r.Cwd), Reason: optional(r.Reason), Environment: optional(r.EnvironmentID)}
	if elements, ok := argv(r.Command); ok && !v.Stdin {
		v.Argv = literals(elements)
	}
	if r.Network != nil {
		v.Network = &NetworkView{host(r.Network.Host), oneOf(string(r.Network.Protocol), "http", "https", "socks5Tcp", "socks5Udp")}
	}
	if r.AdditionalPermissions != nil {
		if name := unlisted(asked); name != "" {
			return unknownPermission(name)
		}
		v.Extra = &PermissionsView{Grants: grants(*r.AdditionalPermissions)}
	}
	c.Kind, c.Command, c.Choices = CommandCard, v, choices(r.Choices())
	return nil
}

// choices projects exactly the server's decisions, in its order.
func choices(decisions []codex.Decision) []Choice {
	list := make([]Choice, 0, len(decisions))
	for i, d := range decisions {
		ch := Choice{ID: strconv.Itoa(i), Kind: string(d.Kind), ChangesRules: d.ChangesRules()}
		ch.Accepts = d.Kind != codex.Decline && d.Kind != codex.Cancel
		switch d.Kind {
		case codex.AcceptExecpolicy:
			ch.Rule = literals(d.Execpolicy)
		case codex.ApplyNetwork:
			h := host(d.Network.Host)
			ch.RuleHost, ch.RuleAction = &h, oneOf(string(d.Network.Action), "allow", "deny")
		}
		list = append(list, ch)
	}
	return list
}

func projectQuestions(c *Card, r *codex.UserInputRequest) *refusal {
	if r.Secret {
		return &refusal{reason: fault.New(fault.RequestRefused, fault.Variant("secret")), code: codex.CodeInvalidParams}
	}
	v := &QuestionsView{Blocking: r.IsBlocking}
	for i, q := range r.Questions {
		qv := QuestionView{ID: strconv.Itoa(i), Header: literal(q.Header), Question: literal(q.Question), Other: q.IsOther && len(q.Options) > 0, FreeText: len(q.Options) == 0}
		for j, o := range q.Options {
			qv.Options = append(qv.Options, OptionView{strconv.Itoa(j), literal(o.Label), literal(o.Description)})
		}
		v.Questions = append(v.Questions, qv)
	}
	c.Kind, c.Questions = QuestionCard, v
	return nil
}

// unknownWord stands for a word of the server that is none of those that this version knows.
const unknownWord = "other"

// oneOf keeps a word that is known: nothing else of the server gets into a card but as Text.
func oneOf(word string, known ...string) string {
	if slices.Contains(known, word) {
		return word
	}
	return unknownWord
}

func optional(s string) *Text {
	if s == "" {
		return nil
	}
	t := literal(s)
	return &t
}

// size is how much a person has to read: the card in its JSON form, in bytes. One of too many lines counts as too large.
func (c *Card) size() int {
	data, err := codex.Encode(c)
	if err != nil || lines(data) > MaxLines {
		return max(MaxShown+1, len(data))
	}
	return len(data)
}

// lines counts what stands beside each other in lists of strings, and the lists of lines. No text of the server holds an
// unescaped quotation mark, so none is counted for what it says.
func lines(card []byte) int {
	return bytes.Count(card, []byte(`","`)) + bytes.Count(card, []byte(`"lines":[`))
}
