package ollama

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/strictjson"
)

// failure is why one attempt did not yield a reply.
type failure struct {
	err   error // a *fault.Error, or the context's error
	retry bool
	after time.Duration // Retry-After; 0 = none
}

// classify judges an answer other than 200 by status and message (A-OLL-06, section 8 of the API reference).
func (c *Client) classify(status int, header http.Header, body []byte) *failure {
	text, isJSON := errorText(body)
	if !isJSON {
		text = fmt.Sprintf("HTTP %d", status) // often a page of HTML from a proxy
	}
	f := c.classifyText(status, text)
	if status == http.StatusNotFound && !isJSON {
		f = c.permanent(fault.OllamaRequestRejected, text, fault.Variant("endpoint"))
	}
	f.after = retryAfter(header.Get("Retry-After"), time.Now())
	return f
}

// classifyText judges status and the server's error text. Some texts decide whatever the status is; 500 is permanent
// unless its text is known to pass.
func (c *Client) classifyText(status int, text string) *failure {
	low := strings.ToLower(text)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(low, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("exceeds the context length", "longer than the context length", "exceeds the available context size", "no user query found in messages"):
		return c.permanent(fault.OllamaContextOverflow, text)
	case has("does not support tools"):
		return c.permanent(fault.OllamaToolsUnsupported, text)
	case has("does not support thinking"):
		return c.permanent(fault.OllamaRequestRejected, text, fault.Variant("thinking"))
	case (status == 200 || status == 500) && (strings.HasPrefix(low, "error parsing tool call") || strings.HasPrefix(low, "xml syntax error")):
		return c.temporary(fault.OllamaModelOutput, text)
	}
	switch {
	case status == http.StatusOK:
		return c.protocol(fmt.Errorf("the reply is an error: %s", short(text)))
	case status == http.StatusPaymentRequired,
		status == http.StatusTooManyRequests && has("usage limit", "limit reached", "quota", "upgrade for higher limits"):
		return c.permanent(fault.OllamaQuotaExceeded, text)
	case status == http.StatusUnauthorized,
		status == http.StatusForbidden && !has("cloud is disabled"):
		return c.permanent(fault.OllamaCredentialRejected, text)
	case status == http.StatusNotFound:
		return c.permanent(fault.OllamaModelNotFound, text)
	case status == http.StatusMethodNotAllowed:
		return c.permanent(fault.OllamaRequestRejected, text, fault.Variant("endpoint"))
	case status >= 300 && status < 400:
		return c.permanent(fault.OllamaRequestRejected, text, fault.Variant("redirect"))
	case status == 499: // "request canceled": the server saw us, or a proxy between, go away
		return c.permanent(fault.AgentCancelled, text)
	case transientStatus(status),
		status == http.StatusInternalServerError && has("model runner has unexpectedly stopped", "runner process no longer running", "server busy",
			"connection refused", "connection reset", "broken pipe", "unexpected eof", "timed out", "timeout"):
		return c.temporary(fault.OllamaUnavailable, text)
	}
	return c.permanent(fault.OllamaRequestRejected, text)
}

// transientStatus are the statuses by which servers and proxies (among them Cloudflare's 52x) say "not now".
func transientStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, 529:
		return true
	}
	return status >= 520 && status <= 524
}

func (c *Client) permanent(code fault.Code, text string, opts ...fault.Option) *failure {
	opts = append(opts, fault.Arg("detail", short(text)), fault.Cause(fmt.Errorf("server says: %s", short(text))))
	return &failure{err: c.Fault(code, opts...)}
}

func (c *Client) temporary(code fault.Code, text string) *failure {
	f := c.permanent(code, text)
	f.retry = true
	return f
}

func (c *Client) protocol(cause error) *failure {
	return &failure{err: c.Fault(fault.OllamaProtocol, fault.Arg("detail", short(cause.Error())), fault.Cause(cause))}
}

// errorText finds the error member of a body, whatever the status. A proxy may answer {"error":{"message":…}}.
func errorText(body []byte) (string, bool) {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if strictjson.UnmarshalOpen(body, MaxReplyBytes, &e) != nil || len(e.Error) == 0 || string(e.Error) == "null" {
		return "", false
	}
	var text string
	if json.Unmarshal(e.Error, &text) == nil {
		return text, text != ""
	}
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(e.Error, &object) == nil && object.Message != "" {
		return object.Message, true
	}
	return short(string(e.Error)), true
}

// retryAfter reads both forms of the header; 0 when absent or unreadable.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(value, 10, 32); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
