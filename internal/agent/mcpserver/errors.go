package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"sekisho/internal/visible"
)

// dataLimit bounds the data of an error, in bytes: the SDK tells the versions that it knows, and repeats the client's.
const dataLimit = 1 << 10

// safeError is an error as it may be told: the SDK's texts repeat parameters, names and versions of the client, which may be
// 40 MiB long and hold whatever a terminal obeys. A plain Go error, which the SDK would send with code 0 and its text, becomes
// an internal error.
func safeError(err error) *jsonrpc.Error {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code == 0 {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
	}
	safe := &jsonrpc.Error{Code: wire.Code, Message: visible.Clip(err.Error(), lineLimit)}
	if data := visible.JSON(wire.Data); len(data) <= dataLimit {
		safe.Data = data
	}
	return safe
}

// errorMessage is a JSON-RPC error response. The id is null where it is not certain.
func errorMessage(id jsonrpc.ID, e *jsonrpc.Error) []byte {
	data, err := json.Marshal(struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      any            `json:"id"`
		Error   *jsonrpc.Error `json:"error"`
	}{"2.0", id.Raw(), e})
	if err != nil { // cannot happen: an id is a string or a number, and data came out of an encoder
		panic(err)
	}
	return data
}

// safeAnswer holds an answer of the SDK over HTTP until it is whole, so that what it says of an error can be made safe. It is
// in memory anyway: the SDK streams nothing here.
type safeAnswer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (a *safeAnswer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *safeAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// send passes the answer on. What cannot be told to a client that is gone is lost.
func (a *safeAnswer) send() {
	body := a.body.Bytes()
	switch {
	case a.Header().Get("Content-Type") != "application/json" && len(body) > 0:
		body = []byte(visible.Clip(strings.TrimRight(string(body), "\n"), lineLimit) + "\n")
	case bytes.Contains(body, []byte(`"error":`)): // within a string its quotes would be escaped
		if message, err := jsonrpc.DecodeMessage(body); err == nil {
			if answer, ok := message.(*jsonrpc.Response); ok && answer.Error != nil {
				body = errorMessage(answer.ID, safeError(answer.Error))
			}
		}
	}
	if a.status != 0 {
		a.ResponseWriter.WriteHeader(a.status)
	}
	a.ResponseWriter.Write(body)
}
