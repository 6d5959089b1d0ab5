package scriptmodel

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// refusal is an error answer.
type refusal struct {
	status int
	text   string
}

var optionKinds = map[string]string{
	"num_ctx": "integer", "num_keep": "integer", "num_predict": "integer", "seed": "integer", "top_k": "integer", "repeat_last_n": "integer",
	"num_batch": "integer", "num_gpu": "integer", "main_gpu": "integer", "num_thread": "integer", "draft_num_predict": "integer",
	"temperature": "float32", "top_p": "float32", "min_p": "float32", "typical_p": "float32", "repeat_penalty": "float32",
	"presence_penalty": "float32", "frequency_penalty": "float32", "use_mmap": "boolean", "stop": "array",
}

// ignoredOptions are accepted by the client with a warning and ignored by Ollama.
var ignoredOptions = []string{"tfs_z", "mirostat", "mirostat_tau", "mirostat_eta"}

func fullName(model string) string {
	if !strings.Contains(model, ":") {
		return model + ":latest"
	}
	return model
}

// can reports a positive capability.
func (s *Script) can(name string) bool {
	return s.Capabilities != nil && slices.Contains(*s.Capabilities, name)
}

// cannot reports a capability that a list lacks; without a list nothing is refused.
func (s *Script) cannot(name string) bool { return s.Capabilities != nil && !s.can(name) }

// refuse answers as Ollama itself does, or nil.
func (s *Script) refuse(q *ChatRequest) *refusal {
	bad := func(status int, format string, args ...any) *refusal {
		return &refusal{status, fmt.Sprintf(format, args...)}
	}
	switch {
	case q.Model == "":
		return bad(http.StatusBadRequest, "model is required")
	case strings.Contains(q.Model, "//") || strings.Contains(q.Model, "::"):
		return bad(http.StatusBadRequest, "invalid model name")
	case fullName(q.Model) != fullName(s.Model):
		return bad(http.StatusNotFound, "model '%s' not found", q.Model)
	case q.TopLogprobs < 0 || q.TopLogprobs > 20:
		return bad(http.StatusBadRequest, "top_logprobs must be between 0 and 20")
	}
	if err := keepAlive(q.KeepAlive); err != nil {
		return bad(http.StatusBadRequest, "%v", err)
	}
	if r := s.refuseThink(q); r != nil {
		return r
	}
	if len(q.Tools) > 0 && s.cannot("tools") {
		return bad(http.StatusBadRequest, "registry.ollama.ai/library/%s does not support tools", fullName(q.Model))
	}
	for _, m := range q.Messages {
		for _, img := range m.Images {
			if _, err := base64.StdEncoding.DecodeString(img); err != nil {
				return bad(http.StatusBadRequest, "%v", err)
			}
		}
	}
	for name, value := range q.Options {
		if kind := optionKinds[name]; kind != "" && value != nil && !isKind(value, kind) {
			return bad(http.StatusInternalServerError, "option %q must be of type %s", name, kind)
		}
	}
	return refuseFormat(q.Format)
}

func isKind(v any, kind string) bool {
	switch v.(type) {
	case float64:
		return kind == "integer" || kind == "float32"
	case bool:
		return kind == "boolean"
	case []any:
		return kind == "array"
	}
	return false
}

func (s *Script) refuseThink(q *ChatRequest) *refusal {
	think := string(q.Think)
	switch think {
	case "", "null", "false":
		return nil
	case "true", `"low"`, `"medium"`, `"high"`, `"max"`:
		if s.cannot("thinking") {
			return &refusal{http.StatusBadRequest, fmt.Sprintf("%q does not support thinking", q.Model)}
		}
		return nil
	}
	if strings.HasPrefix(think, `"`) {
		return &refusal{http.StatusBadRequest, "invalid think value: " + think + ` (must be "high", "medium", "low", "max", true, or false)`}
	}
	return &refusal{http.StatusBadRequest, `think must be a boolean or string ("high", "medium", "low", "max", true, or false)`}
}

func keepAlive(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var text string
	var number float64
	if json.Unmarshal(raw, &number) == nil {
		return nil
	}
	if json.Unmarshal(raw, &text) == nil {
		_, err := time.ParseDuration(text)
		return err
	}
	//lint:ignore ST1005 Ollama's words
	return errors.New("Unsupported type: 'bool'")
}

// refuseFormat knows the gross mistakes only; the grammar compiler finds more.
func refuseFormat(raw json.RawMessage) *refusal {
	switch formatOf(raw) {
	case "none", "json":
		return nil
	case "schema":
		var schema struct {
			Type any    `json:"type"`
			Ref  string `json:"$ref"`
		}
		known := []any{nil, "object", "array", "string", "integer", "number", "boolean", "null"}
		if json.Unmarshal(raw, &schema) == nil && schema.Ref == "" {
			if _, many := schema.Type.([]any); many || slices.Contains(known, schema.Type) {
				return nil
			}
		}
		return &refusal{http.StatusInternalServerError, "invalid JSON schema in format"}
	}
	return &refusal{http.StatusInternalServerError, fmt.Sprintf("invalid format: %q; expected \"json\" or a valid JSON Schema object", raw)}
}

// formatOf classifies a format member: none, json, schema, or "" for anything else.
func formatOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null" || string(raw) == `""`:
		return "none"
	case string(raw) == `"json"`:
		return "json"
	case raw[0] == '{':
		return "schema"
	}
	return ""
}
