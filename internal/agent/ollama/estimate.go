package ollama

import "sekisho/internal/fault"

// bytesPerToken is more text than tokens of any current vocabulary hold on average, which makes the estimate a lower
// bound. Runs of one byte (indentation, rules) fit into few tokens and count once.
const bytesPerToken = 8

// lowerBound is the least number of tokens that the prompt can have.
func lowerBound(q chatRequest) int64 {
	var n int64
	for _, m := range q.Messages {
		n += squeezed(m.Content)
		for _, call := range m.ToolCalls {
			n += squeezed(string(call.Function.Arguments))
		}
	}
	for _, t := range q.Tools {
		n += squeezed(t.Function.Description)
	}
	return n / bytesPerToken
}

func squeezed(s string) int64 {
	var n int64
	for i := range len(s) {
		if i == 0 || s[i] != s[i-1] {
			n++
		}
	}
	return n
}

// truncated warns when the server evaluated less than half of what the prompt holds at least: it cut the prompt in
// silence. An absent count and a noted cache say nothing.
func (c *Client) truncated(q chatRequest, r chatReply) *fault.Error {
	least := lowerBound(q)
	if r.PromptEval == 0 || r.CacheN > 0 || r.PromptEval >= least/2 {
		return nil
	}
	return c.Fault(fault.OllamaContextTruncated, fault.Arg("evaluated", r.PromptEval), fault.Arg("least", least))
}
