package mcpserver

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/strictjson"
)

// Routing headers of the protocol, in Go's canonical form.
const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// modernVersion is the first version without initialize; it requires the routing headers.
const modernVersion = "2026-07-28"

// versions are those that this server knows, for the log.
var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modernVersion}

// routingHeaders are the values of the headers above, "" where there is none.
type routingHeaders struct{ version, method, name string }

// modern reports whether the routing headers are required.
func (h routingHeaders) modern() bool { return h.version >= modernVersion }

// readHeaders takes the routing headers out of a request. Each may occur once; the name may have the Base64 form.
func readHeaders(h http.Header) (routingHeaders, *frameError) {
	var r routingHeaders
	for key, to := range map[string]*string{versionHeader: &r.version, methodHeader: &r.method, nameHeader: &r.name} {
		values := h[key]
		if len(values) > 1 {
			return r, mismatch(jsonrpc.ID{}, "header "+key+" occurs twice")
		}
		if len(values) == 1 {
			*to = values[0]
		}
	}
	name, ok := decodeHeader(r.name)
	if !ok {
		return r, mismatch(jsonrpc.ID{}, "header "+nameHeader+" is not valid Base64 of UTF-8 text")
	}
	r.name = name
	return r, nil
}

func mismatch(id jsonrpc.ID, reason string) *frameError {
	return &frameError{code: mcp.CodeHeaderMismatch, reason: reason, id: id}
}

// decodeHeader undoes the form =?base64?...?= of a value that is no plain ASCII text.
func decodeHeader(v string) (string, bool) {
	const prefix, suffix = "=?base64?", "?="
	if len(v) < len(prefix)+len(suffix) || !strings.HasPrefix(v, prefix) || !strings.HasSuffix(v, suffix) {
		return v, true
	}
	data, err := base64.StdEncoding.Strict().DecodeString(v[len(prefix) : len(v)-len(suffix)])
	if err != nil || !utf8.Valid(data) || strings.ContainsAny(v, "\r\n") {
		return "", false
	}
	return string(data), true
}

// checkTask compares the name header of tasks/* with the task id of the body, which the SDK does not (design/mcp.md).
func (h routingHeaders) checkTask(req *jsonrpc.Request) *frameError {
	if !h.modern() || !strings.HasPrefix(req.Method, "tasks/") {
		return nil
	}
	var p struct {
		TaskID jsontext.Value `json:"taskId"`
	}
	var id string
	// As exactly as the one that acts on it: encoding/json would take a later "TASKID" for the id.
	if strictjson.UnmarshalOpen(req.Params, FrameLimit, &p) == nil && p.TaskID.Kind() == '"' {
		if json.Unmarshal(p.TaskID, &id) != nil {
			id = ""
		}
	}
	switch {
	case h.method != req.Method:
		return mismatch(req.ID, "header "+methodHeader+" differs from the method of the body")
	case h.name == "":
		return mismatch(req.ID, "header "+nameHeader+" is missing")
	case h.name != id:
		return mismatch(req.ID, "header "+nameHeader+" differs from the task id of the body")
	}
	return nil
}

// forSDK are the only headers that go further inside: no cookie, credential or forwarded header can be seen there.
func (h routingHeaders) forSDK() http.Header {
	out := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json", "text/event-stream"}}
	for key, v := range map[string]string{versionHeader: h.version, methodHeader: h.method, nameHeader: h.name} {
		if v != "" {
			out[key] = []string{v}
		}
	}
	return out
}

// known returns v if it is in set, "" if it is empty, and "other" for everything else.
func known(set []string, v string) string {
	if v == "" || slices.Contains(set, v) {
		return v
	}
	return "other"
}
