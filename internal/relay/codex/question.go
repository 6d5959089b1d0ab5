package codex

import "sekisho/internal/relay"

// UserInput request: item/tool/requestUserInput.
type UserInputRequest struct {
	ThreadID   relay.ThreadID `json:"threadId"`
	TurnID     relay.TurnID   `json:"turnId"`
	ItemID     relay.ItemID   `json:"itemId"`
	Questions  []Question     `json:"questions"`
	IsBlocking bool           `json:"isBlocking"`
	// Secret is set when any question is secret. Then the questions carry their ids only: what a secret question says
	// stops here, before anything could show or log it (R-INT-02).
	Secret bool `json:"-"`
}

// Question is one question with its choices; without choices it is free text.
type Question struct {
	ID       string           `json:"id"`
	Header   string           `json:"header"`
	Question string           `json:"question"`
	IsOther  bool             `json:"isOther,omitzero"`
	IsSecret bool             `json:"isSecret,omitzero"`
	Options  []QuestionOption `json:"options,omitzero"`
}

// QuestionOption is one choice; the label is what the answer contains.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

func (r *UserInputRequest) withhold() {
	for _, q := range r.Questions {
		r.Secret = r.Secret || q.IsSecret
	}
	if !r.Secret {
		return
	}
	for i, q := range r.Questions {
		r.Questions[i] = Question{ID: q.ID, IsSecret: q.IsSecret}
	}
}

// UserInputReply maps question ids to answers. An unanswered question is left out.
type UserInputReply struct {
	Answers map[string]Answer `json:"answers"`
}

// Answer holds chosen labels and free text.
type Answer struct {
	Answers []string `json:"answers"`
}
