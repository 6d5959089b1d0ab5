package ask

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/strictjson"
)

// MaxAnswer bounds one answer, in bytes.
const MaxAnswer = 256 << 10

// Answer is what a person decided, in terms of the card: ids, never text of the server. Which members count depends on
// the card's kind; any other member makes it invalid.
type Answer struct {
	Key    relay.Key `json:"key"`
	Choice string    `json:"choice,omitzero"` // id of a Choice; for a form: accept, decline or cancel
	// Grants and Scope answer a permissions card; no grants deny all. Scope is turn unless it says session.
	Grants []string         `json:"grants,omitzero"`
	Scope  codex.GrantScope `json:"scope,omitzero"`
	// Replies answers questions by their id; questions left out stay unanswered.
	Replies map[string]Reply `json:"replies,omitzero"`
	// Content has the values of a form by field id: a select has an option's id, a multiselect a list of them.
	Content map[string]json.RawMessage `json:"content,omitzero"`
	// SeenEnd says that the end of a Long card was shown.
	SeenEnd bool `json:"seenEnd,omitzero"`
}

// Reply answers one question: an option, a text of one's own where that is allowed, or both.
type Reply struct {
	Option *string `json:"option,omitzero"`
	Text   string  `json:"text,omitzero"`
}

// DecodeAnswer reads an answer strictly.
func DecodeAnswer(data []byte) (Answer, error) {
	var a Answer
	if err := strictjson.Unmarshal(data, MaxAnswer, &a); err != nil {
		return Answer{}, invalid("type", "answer")
	}
	return a, nil
}

// reply validates a against the card and returns the result for the wire.
func reply(c *Card, body codex.ServerRequest, a Answer) (any, error) {
	if a.size() > MaxAnswer {
		return nil, invalid("too_large", "answer")
	}
	if err := stray(c.Kind, a); err != nil {
		return nil, err
	}
	var result any
	var accepts bool
	var err error
	switch body := body.(type) {
	case *codex.CommandApproval:
		result, accepts, err = decision(c.Choices, body.Choices(), a.Choice)
	case *codex.FileApproval:
		choice, ok := current(c.Choices, a.Choice)
		result, accepts, err = decision(c.Choices, body.Choices(), choice)
		if err == nil && accepts && (!ok || !c.File.Known) {
			return nil, invalid("unseen", "changes")
		}
	case *codex.PermissionsApproval:
		result, accepts, err = permissionsReply(body, a)
	case *codex.UserInputRequest:
		result, err = questionReply(body, a)
	case *codex.Elicitation:
		if c.Kind == ToolCard {
			result, accepts, err = toolReply(c.Choices, a.Choice)
		} else {
			result, accepts, err = formReply(body, a)
		}
	}
	if err == nil && accepts && c.Long && !a.SeenEnd {
		err = invalid("unseen", "card")
	}
	return result, err
}

func (a Answer) size() int {
	n := len(a.Choice)
	for _, r := range a.Replies {
		n += len(r.Text)
	}
	for _, v := range a.Content {
		n += len(v)
	}
	return n
}

// stray refuses members that the kind does not use: a page that sends them means another card.
func stray(kind Kind, a Answer) error {
	for _, m := range []struct {
		name string
		set  bool
		used []Kind
	}{
		{"choice", a.Choice != "", []Kind{CommandCard, FileCard, ToolCard, FormCard}},
		{"content", a.Content != nil, []Kind{FormCard}},
		{"grants", a.Grants != nil, []Kind{PermissionsCard}},
		{"replies", a.Replies != nil, []Kind{QuestionCard}},
		{"scope", a.Scope != "", []Kind{PermissionsCard}},
	} {
		if m.set && !slices.Contains(m.used, kind) {
			return invalid("not_asked", m.name)
		}
	}
	return nil
}

func pick(choices []Choice, id string) (int, error) {
	i := slices.IndexFunc(choices, func(c Choice) bool { return c.ID == id })
	if i < 0 {
		return 0, invalid("choice", "choice")
	}
	return i, nil
}

func decision(choices []Choice, decisions []codex.Decision, id string) (any, bool, error) {
	i, err := pick(choices, id)
	if err != nil {
		return nil, false, err
	}
	return codex.DecisionReply{Decision: decisions[i]}, choices[i].Accepts, nil
}

func permissionsReply(r *codex.PermissionsApproval, a Answer) (any, bool, error) {
	scope := a.Scope
	switch scope {
	case "":
		scope = codex.ScopeTurn
	case codex.ScopeTurn, codex.ScopeSession:
	default:
		return nil, false, invalid("choice", "scope")
	}
	p, err := granted(r.Permissions, a.Grants)
	if err != nil {
		return nil, false, err
	}
	return codex.PermissionsReply{Permissions: p, Scope: scope}, len(a.Grants) > 0, nil
}

// notePrefix marks free text in the answer to a question, as the model's own client does.
const notePrefix = "user_note: "

func questionReply(r *codex.UserInputRequest, a Answer) (any, error) {
	out := codex.UserInputReply{Answers: map[string]codex.Answer{}}
	for _, id := range slices.Sorted(maps.Keys(a.Replies)) {
		given := a.Replies[id]
		i, err := strconv.Atoi(id)
		if err != nil || i < 0 || i >= len(r.Questions) || strconv.Itoa(i) != id {
			return nil, invalid("not_asked", "question "+id)
		}
		q := r.Questions[i]
		answers := []string{}
		if given.Option != nil {
			j, err := strconv.Atoi(*given.Option)
			if err != nil || j < 0 || j >= len(q.Options) || strconv.Itoa(j) != *given.Option {
				return nil, invalid("choice", "question "+id)
			}
			answers = append(answers, q.Options[j].Label)
		}
		if text := strings.TrimSpace(given.Text); text != "" {
			if !q.IsOther && len(q.Options) > 0 {
				return nil, invalid("not_asked", "text of question "+id)
			}
			answers = append(answers, notePrefix+text)
		}
		if _, twice := out.Answers[q.ID]; twice {
			return nil, invalid("not_asked", "question "+id)
		}
		if len(answers) > 0 {
			out.Answers[q.ID] = codex.Answer{Answers: answers}
		}
	}
	return out, nil
}

func toolReply(choices []Choice, id string) (any, bool, error) {
	i, err := pick(choices, id)
	if err != nil {
		return nil, false, err
	}
	switch kind := choices[i].Kind; kind {
	case toolDecline:
		return codex.ElicitReply{Action: codex.ElicitDecline}, false, nil
	case toolCancel:
		return codex.ElicitReply{Action: codex.ElicitCancel}, false, nil
	case toolAccept:
		return codex.ElicitReply{Action: codex.ElicitAccept}, true, nil
	default:
		meta, err := codex.Persisting(persists[kind])
		return codex.ElicitReply{Action: codex.ElicitAccept, Meta: meta}, true, err
	}
}

func formReply(r *codex.Elicitation, a Answer) (any, bool, error) {
	switch action := codex.ElicitAction(a.Choice); action {
	case codex.ElicitAccept:
		values, err := content(r.RequestedSchema, a.Content)
		return codex.ElicitReply{Action: action, Content: values}, true, err
	case codex.ElicitDecline, codex.ElicitCancel:
		if a.Content != nil {
			return nil, false, invalid("not_asked", "content")
		}
		return codex.ElicitReply{Action: action}, false, nil
	}
	return nil, false, invalid("choice", "choice")
}
