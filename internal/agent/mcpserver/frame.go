package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"sekisho/internal/strictjson"
)

// FrameLimit bounds one incoming message: 20 MiB of images are about 28 MiB of Base64 (design/mcp.md).
const FrameLimit = 40 << 20

// maxIDLength bounds a string id; maxIntegerID is the largest integer that JSON peers agree on (2^53 - 1).
const (
	maxIDLength  = 1024
	maxIntegerID = 1<<53 - 1
)

// frame is the envelope of JSON-RPC 2.0. Members that we do not know are ignored, as the standard leaves them open.
type frame struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  *string        `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

// frameError is a refused frame: what the peer is told, and the id it belongs to where that is certain.
type frameError struct {
	code   int64
	reason string
	id     jsonrpc.ID
}

func (e *frameError) Error() string { return e.reason }

// encode is the JSON-RPC error response. The id is null where it is not certain.
func (e *frameError) encode() []byte {
	return errorMessage(e.id, &jsonrpc.Error{Code: e.code, Message: e.reason})
}

var errResponse = errors.New("a response, but this server asks nothing")

// parseFrame decodes one line. It returns a *frameError for anything that is not exactly one JSON-RPC request or
// notification, and errResponse for a response.
func parseFrame(line []byte) (*jsonrpc.Request, error) {
	var f frame
	if err := strictjson.UnmarshalOpen(line, FrameLimit, &f); err != nil {
		var syntactic *jsontext.SyntacticError // also for what encoding/json would repair: surrogates, bytes that are no UTF-8, equal names
		if json.Valid(line) && !errors.As(err, &syntactic) && !errors.Is(err, strictjson.ErrTooDeep) {
			return nil, &frameError{code: jsonrpc.CodeInvalidRequest, reason: "not a JSON-RPC message object"}
		}
		return nil, &frameError{code: jsonrpc.CodeParseError, reason: "not valid JSON: " + parseReason(err)}
	}
	id, idErr := parseID(f.ID)
	switch {
	case idErr != nil:
		return nil, &frameError{code: jsonrpc.CodeInvalidRequest, reason: idErr.Error()}
	case f.JSONRPC != "2.0":
		return nil, &frameError{code: jsonrpc.CodeInvalidRequest, reason: `member jsonrpc must be "2.0"`, id: id}
	case f.Method == nil && (f.Result != nil || f.Error != nil):
		return nil, errResponse
	case f.Method == nil || *f.Method == "":
		return nil, &frameError{code: jsonrpc.CodeInvalidRequest, reason: "member method is missing", id: id}
	}
	if k := f.Params.Kind(); f.Params != nil && k != '{' && k != '[' {
		return nil, &frameError{code: jsonrpc.CodeInvalidRequest, reason: "member params must be an object", id: id}
	}
	return &jsonrpc.Request{ID: id, Method: *f.Method, Params: json.RawMessage(f.Params)}, nil
}

// parseID accepts what MCP allows: a string, or an integer. The SDK alone would take 1.5 as 1 and round large numbers, so
// that an answer could name another request.
func parseID(raw jsontext.Value) (jsonrpc.ID, error) {
	if raw == nil {
		return jsonrpc.ID{}, nil
	}
	switch raw.Kind() {
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil || len(s) > maxIDLength {
			return jsonrpc.ID{}, fmt.Errorf("member id must be at most %d bytes", maxIDLength)
		}
		return jsonrpc.MakeID(s)
	case '0':
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil || n > maxIntegerID || n < -maxIntegerID {
			return jsonrpc.ID{}, errors.New("member id must be a string or an integer")
		}
		return jsonrpc.MakeID(float64(n))
	}
	return jsonrpc.ID{}, errors.New("member id must be a string or an integer")
}

func duplicate(err error) bool { return errors.Is(err, jsontext.ErrDuplicateName) }

// parseReason tells where and why without repeating the payload.
func parseReason(err error) string {
	var syntactic *jsontext.SyntacticError
	switch {
	case duplicate(err):
		return "a member name occurs twice"
	case errors.Is(err, strictjson.ErrTooDeep):
		return "nested too deeply"
	case errors.As(err, &syntactic):
		return fmt.Sprintf("at byte %d", syntactic.ByteOffset)
	}
	return "malformed"
}

// checkParams refuses what the SDK would answer over HTTP with plain text, or with code 0 and the text of a Go error.
func checkParams(req *jsonrpc.Request) *frameError {
	var p struct {
		ProtocolVersion string         `json:"protocolVersion"`
		Capabilities    map[string]any `json:"capabilities"`
		ClientInfo      map[string]any `json:"clientInfo"`
	}
	switch req.Method {
	case "initialize":
		if strictjson.UnmarshalOpen(req.Params, FrameLimit, &p) == nil {
			return nil
		}
	case "tools/call":
		if jsontext.Value(req.Params).Kind() == '{' {
			return nil
		}
	default:
		return nil
	}
	return &frameError{code: jsonrpc.CodeInvalidParams, reason: "member params is missing or no object of " + req.Method, id: req.ID}
}
