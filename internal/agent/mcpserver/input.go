package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
	"sekisho/internal/strictjson"
)

// The input schemas equal the original design's sections 5.2 and 5.4 member for member (A-MCP-02, A-MCP-03).
const (
	runSchema = `{"type":"object","properties":{"request":{"type":"string","minLength":1},"session_id":{"type":"string","format":"uuid"},"temperature":{"type":"number","minimum":0.0,"maximum":2.0},"images":{"type":"array","items":{"type":"object","properties":{"mime_type":{"type":"string","enum":["image/png","image/jpeg","image/webp"]},"data_base64":{"type":"string","minLength":1}},"required":["mime_type","data_base64"],"additionalProperties":false}}},"required":["request"],"additionalProperties":false}`

	statusSchema = `{"type":"object","properties":{"task_id":{"type":"string","format":"uuid"},"session_id":{"type":"string","format":"uuid"}},"required":["task_id"],"additionalProperties":false}`
)

// runInput is a validated agent_run.
type runInput struct {
	Request     string
	SessionID   string
	Temperature *float64
	Images      []agent.Image
}

// statusInput is a validated agent_status.
type statusInput struct {
	TaskID    string
	SessionID string
}

// members decodes one JSON object into its raw members, refusing duplicates and members outside known.
func members(raw json.RawMessage, known ...string) (map[string]jsontext.Value, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	var m map[string]jsontext.Value
	if err := strictjson.Unmarshal(raw, FrameLimit, &m); err != nil || m == nil {
		return nil, invalid("arguments", "reason.object", nil)
	}
	for name := range m {
		if !slices.Contains(known, name) {
			return nil, invalid(name, "reason.unknown", nil)
		}
	}
	return m, nil
}

// invalid is a refused argument: the field, and a reason key below request. with its placeholders.
func invalid(field, reason string, args map[string]string) *fault.Error {
	opts := []fault.Option{fault.Target(field), fault.Arg("reason", reason)}
	for k, v := range args {
		opts = append(opts, fault.Arg(k, v))
	}
	return fault.New(fault.RequestInvalid, opts...)
}

func parseRun(raw json.RawMessage, limits ImageLimits) (runInput, error) {
	var in runInput
	m, err := members(raw, "request", "session_id", "temperature", "images")
	if err != nil {
		return in, err
	}
	if in.Request, err = stringMember(m, "request", true); err != nil {
		return in, err
	}
	if blank(in.Request) { // the schema cannot say that
		return in, invalid("request", "reason.blank", nil)
	}
	if in.SessionID, err = uuidMember(m, "session_id", false); err != nil {
		return in, err
	}
	if v, ok := m["temperature"]; ok {
		f, err := strconv.ParseFloat(string(v), 64)
		if v.Kind() != '0' || err != nil || f < 0 || f > 2 {
			return in, invalid("temperature", "reason.range", map[string]string{"minimum": "0.0", "maximum": "2.0"})
		}
		in.Temperature = &f
	}
	if v, ok := m["images"]; ok {
		if in.Images, err = parseImages(v, limits); err != nil {
			return in, err
		}
	}
	return in, nil
}

// blank reports whether nothing in a text can be seen.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

func parseStatus(raw json.RawMessage) (statusInput, error) {
	var in statusInput
	m, err := members(raw, "task_id", "session_id")
	if err != nil {
		return in, err
	}
	if in.TaskID, err = uuidMember(m, "task_id", true); err != nil {
		return in, err
	}
	in.SessionID, err = uuidMember(m, "session_id", false)
	return in, err
}

// stringMember returns a string of at least one character.
func stringMember(m map[string]jsontext.Value, name string, required bool) (string, error) {
	v, ok := m[name]
	if !ok {
		if required {
			return "", invalid(name, "reason.missing", nil)
		}
		return "", nil
	}
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil || !utf8.ValidString(s) {
		return "", invalid(name, "reason.string", nil)
	}
	if s == "" {
		return "", invalid(name, "reason.empty", nil)
	}
	return s, nil
}

// uuidMember returns a UUID in its canonical lower-case form.
func uuidMember(m map[string]jsontext.Value, name string, required bool) (string, error) {
	s, err := stringMember(m, name, required)
	if err != nil || s == "" {
		return s, err
	}
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return "", invalid(name, "reason.uuid", nil)
	}
	return id.String(), nil
}

func parseImages(raw jsontext.Value, limits ImageLimits) ([]agent.Image, error) {
	var items []json.RawMessage
	if raw.Kind() != '[' || json.Unmarshal(raw, &items) != nil {
		return nil, invalid("images", "reason.array", nil)
	}
	if len(items) > limits.MaxCount {
		return nil, invalid("images", "reason.too_many", map[string]string{"limit": strconv.Itoa(limits.MaxCount)})
	}
	var images []agent.Image
	total := 0
	for i, item := range items {
		field := fmt.Sprintf("images[%d]", i)
		m, err := members(item, "mime_type", "data_base64")
		if err != nil {
			return nil, below(field, err)
		}
		img := agent.Image{}
		if img.MIMEType, err = stringMember(m, "mime_type", true); err != nil {
			return nil, below(field, err)
		}
		if img.Data, err = stringMember(m, "data_base64", true); err != nil {
			return nil, below(field, err)
		}
		size, err := checkImage(img, limits)
		if err != nil {
			return nil, below(field, err)
		}
		if total += size; total > limits.MaxTotalBytes {
			return nil, invalid("images", "reason.too_large_total", map[string]string{"limit": strconv.Itoa(limits.MaxTotalBytes)})
		}
		images = append(images, img)
	}
	return images, nil
}

// below puts the field of an error inside its parent.
func below(parent string, err error) error {
	e := fault.As(err)
	if e == nil {
		return err
	}
	if e.Target == "arguments" {
		return e.With(fault.Target(parent))
	}
	return e.With(fault.Target(parent + "." + e.Target))
}
