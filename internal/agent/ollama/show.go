package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
	"sekisho/internal/strictjson"
)

type showReply struct {
	Capabilities *[]string                  `json:"capabilities"`
	ModelInfo    map[string]json.RawMessage `json:"model_info"`
}

// Capabilities asks the server what the model can do (/api/show), with the same retries as a chat call. It asks each
// time: a pulled model may have changed.
func (c *Client) Capabilities(ctx context.Context) (Capabilities, error) {
	body, err := strictjson.Marshal(map[string]string{"model": c.cfg.Model})
	if err != nil {
		return Capabilities{}, c.Fault(fault.AgentInternal, fault.Cause(err))
	}
	var reply showReply
	_, err = c.post(ctx, "/api/show", body, func(data []byte) *failure {
		reply = showReply{}
		if err := strictjson.UnmarshalOpen(data, MaxReplyBytes, &reply); err != nil {
			return c.protocol(fmt.Errorf("reading the model's description: %w", err))
		}
		return nil
	})
	if err != nil {
		return Capabilities{}, err
	}
	return capabilities(reply), nil
}

func capabilities(r showReply) Capabilities {
	var out Capabilities
	if r.Capabilities != nil {
		has := func(name string) bool { return slices.Contains(*r.Capabilities, name) }
		out = Capabilities{Known: true, Tools: has("tools"), Vision: has("vision"), Thinking: has("thinking")}
	}
	for name, value := range r.ModelInfo { // "<architecture>.context_length"
		var n int64
		if strings.HasSuffix(name, ".context_length") && strings.Count(name, ".") == 1 && json.Unmarshal(value, &n) == nil {
			out.ContextLength = max(out.ContextLength, n)
		}
	}
	return out
}

// refuseImages stops a call with images unless the model positively has vision: the server would answer 200 and ignore
// the image (A-OLL-05).
func (c *Client) refuseImages(ctx context.Context, messages []agent.Message) error {
	if !slices.ContainsFunc(messages, func(m agent.Message) bool { return len(m.Images) > 0 }) {
		return nil
	}
	can, err := c.Capabilities(ctx)
	switch {
	case err != nil:
		return err
	case !can.Known:
		return c.Fault(fault.OllamaVisionUnsupported, fault.Variant("unknown"))
	case !can.Vision:
		return c.Fault(fault.OllamaVisionUnsupported)
	}
	return nil
}
