// Package scriptmodel is an Ollama-compatible HTTP server whose model follows a script: for tests and for the demo. It
// listens on loopback only. The product knows nothing of it; a client differs by its base URL alone.
//
// It answers as Ollama 0.24 was seen to answer (docs: reference/ollama), stricter where a silent mistake of the client
// would pass there: a request that breaks the client's own rules, or that no rule of the script expects, gets HTTP 599
// and is kept in Failures.
package scriptmodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// Script is one scripted model.
type Script struct {
	Model         string    `json:"model"`        // "name" means "name:latest"
	Capabilities  *[]string `json:"capabilities"` // absent: the server does not tell, like old ones
	ContextLength int64     `json:"context_length"`
	NumCtx        int64     `json:"num_ctx"`       // window when the request names none; 0 means 4096
	ExtraOptions  []string  `json:"extra_options"` // untyped options that the client may send
	Lenient       bool      `json:"lenient"`       // only Ollama's own refusals, not the strict checks
	Rules         []Rule    `json:"rules"`
	Otherwise     string    `json:"otherwise"` // "fail", the only choice
}

// Rule is one reply and when it is given. The first rule that matches and is not exhausted wins. Uses are counted per
// conversation (first system and first user message), with scope "server" over all of them.
type Rule struct {
	Name  string `json:"name"`
	When  When   `json:"when"`
	Once  bool   `json:"once"`
	Times int    `json:"times"` // 0 means without limit
	Scope string `json:"scope"` // "conversation" (default) or "server"
	// Capture maps a source (user, tool, system) to a regular expression with named groups; it must match. Group path of
	// source user is {{user.path}} in the reply.
	Capture map[string]string `json:"capture"`
	Reply   Reply             `json:"reply"`
	// DropConnection may stand beside the reply or in it.
	DropConnection string    `json:"drop_connection"`
	Recorded       *Recorded `json:"recorded"`

	captures []capture
}

// When lists conditions that must all hold. A user message right behind a tool result is a reminder: last_role and the
// last_tool conditions look past it.
type When struct {
	Format           string    `json:"format"`             // schema, json, none
	Phase            string    `json:"phase"`              // plan (format, no tools), run (tools), text (neither)
	SystemContains   string    `json:"system_contains"`    // any system message
	UserContains     string    `json:"user_contains"`      // any user message
	LastUserContains string    `json:"last_user_contains"` // one of the user messages at the end
	ToolsInclude     oneOrMany `json:"tools_include"`
	LastRole         string    `json:"last_role"`
	LastTool         string    `json:"last_tool"`
	LastToolOK       *bool     `json:"last_tool_ok"`
	LastToolError    string    `json:"last_tool_error"` // code in the result's header line
	LastToolContains string    `json:"last_tool_contains"`
	Turn             int       `json:"turn"`  // 1 = first call of the conversation
	Times            int       `json:"times"` // as in Rule
}

// Reply is what the model "says", or how the server fails.
type Reply struct {
	Content    json.RawMessage `json:"content"` // a string, or any other value: sent as JSON text
	Thinking   string          `json:"thinking"`
	ToolCalls  []Call          `json:"tool_calls"`
	DoneReason string          `json:"done_reason"` // default stop
	// The counts replace the deterministic ones; 0 leaves the member out, as Ollama does.
	PromptEvalCount *int64 `json:"prompt_eval_count"`
	EvalCount       *int64 `json:"eval_count"`

	Status  int               `json:"status"`
	Error   string            `json:"error"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"` // the complete JSON body as it stands

	RawStatus      int     `json:"raw_status"`
	RawBody        *string `json:"raw_body"`
	MissingMessage bool    `json:"missing_message"`
	NotDone        bool    `json:"not_done"`
	ContentType    string  `json:"content_type"`
	Gzip           bool    `json:"gzip"`
	PadTo          int     `json:"pad_to"` // the body is at least this many bytes
	DelayMS        int     `json:"delay_ms"`
	DropConnection string  `json:"drop_connection"` // before_headers, after_headers, half_body
}

// Call is one tool call of a reply. Arguments may be any value, or absent, to play a bad model.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Recorded tells which request a recorded rule answered.
type Recorded struct {
	RequestSHA256 string          `json:"request_sha256"`
	Request       json.RawMessage `json:"request,omitzero"`
}

type capture struct {
	source string
	re     *regexp.Regexp
}

// oneOrMany accepts a string or a list of strings.
type oneOrMany []string

func (o *oneOrMany) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMany{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return fmt.Errorf("a string or a list of strings is needed")
	}
	*o = many
	return nil
}

var sources = []string{"user", "tool", "system"}

// check validates and completes a decoded script.
func (s *Script) check() error {
	if s.Model == "" {
		return fmt.Errorf("model: a name is needed")
	}
	if s.Otherwise != "" && s.Otherwise != "fail" {
		return fmt.Errorf("otherwise: %q is unknown; fail is the only choice", s.Otherwise)
	}
	if len(s.Rules) == 0 {
		return fmt.Errorf("rules: at least one is needed")
	}
	for i := range s.Rules {
		r := &s.Rules[i]
		if r.Name == "" {
			r.Name = fmt.Sprintf("rule %d", i+1)
		}
		if err := r.check(); err != nil {
			return fmt.Errorf("rules: %s: %w", r.Name, err)
		}
	}
	return nil
}

func (r *Rule) check() error {
	limits := 0
	for _, n := range []int{r.Times, r.When.Times, map[bool]int{true: 1}[r.Once]} {
		if n < 0 {
			return fmt.Errorf("times: %d is negative", n)
		}
		if n > 0 {
			limits++
			r.Times = n
		}
	}
	if limits > 1 {
		return fmt.Errorf("once, times and when.times exclude each other")
	}
	if r.DropConnection != "" {
		if r.Reply.DropConnection != "" {
			return fmt.Errorf("drop_connection is there twice")
		}
		r.Reply.DropConnection = r.DropConnection
	}
	for _, c := range []struct {
		key, value string
		choices    []string
	}{
		{"scope", r.Scope, []string{"", "conversation", "server"}},
		{"when.format", r.When.Format, []string{"", "schema", "json", "none"}},
		{"when.phase", r.When.Phase, []string{"", "plan", "run", "text"}},
		{"when.last_role", r.When.LastRole, []string{"", "system", "user", "assistant", "tool"}},
		{"drop_connection", r.Reply.DropConnection, []string{"", "before_headers", "after_headers", "half_body"}},
	} {
		if !slices.Contains(c.choices, c.value) {
			return fmt.Errorf("%s: %q is none of %q", c.key, c.value, c.choices[1:])
		}
	}
	if p := r.Reply; p.DelayMS < 0 || p.DelayMS > maxDelayMS || p.PadTo < 0 || p.PadTo > maxPad {
		return fmt.Errorf("reply: delay_ms goes up to %d, pad_to up to %d", maxDelayMS, maxPad)
	}
	for _, status := range []int{r.Reply.Status, r.Reply.RawStatus} {
		if status != 0 && (status < 200 || status > 599) {
			return fmt.Errorf("reply: the status %d is outside 200..599", status)
		}
	}
	return r.checkTemplates()
}

const (
	maxDelayMS = 600_000
	maxPad     = 256 << 20
)
