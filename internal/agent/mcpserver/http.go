package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/agent/mcpserver/httpd"
)

// toolNames are the tools, for the log.
var toolNames = []string{"agent_run", "agent_status"}

// newHTTPHandler is the SDK's handler: stateless, JSON answers. Its event stream is unreachable, because subscriptions/listen
// and GET are refused before it.
func newHTTPHandler(s *Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless:           true,
		JSONResponse:        true,
		Logger:              sdkLog(s.log),
		MaxRequestBodyBytes: httpd.MaxBody,
	})
}

// Answer implements httpd.Answerer: one JSON-RPC message, answered by the SDK after the frame and the routing headers are
// checked as strictly as those of stdio.
func (s *Server) Answer(w http.ResponseWriter, r *http.Request, body []byte) httpd.Routing {
	headers, no := readHeaders(r.Header)
	routing := httpd.Routing{Protocol: known(versions, headers.version)}
	if no != nil {
		return s.refuseHTTP(w, no, len(body), routing, "header")
	}
	req, err := parseFrame(body)
	if err != nil {
		if !errors.As(err, &no) {
			no = &frameError{code: jsonrpc.CodeInvalidRequest, reason: err.Error()}
		}
		return s.refuseHTTP(w, no, len(body), routing, "frame")
	}
	routing.Method = known(methods, req.Method)
	switch notification := strings.HasPrefix(req.Method, "notifications/"); {
	case !req.IsCall() && !notification: // nobody waits for the answer
		w.WriteHeader(http.StatusAccepted)
		return routing
	case req.IsCall() && notification:
		return s.refuseHTTP(w, &frameError{code: jsonrpc.CodeInvalidRequest, reason: "a notification has no id", id: req.ID}, len(body), routing, "frame")
	case slices.Contains(methods, req.Method):
	case !req.IsCall():
		w.WriteHeader(http.StatusAccepted) // as MCP asks; there is nothing to answer and nothing to do
		return routing
	default:
		return s.notFound(w, req, headers, routing)
	}
	if no := checkParams(req); no != nil {
		return s.refuseHTTP(w, no, len(body), routing, "frame")
	}
	if no := headers.checkTask(req); no != nil {
		return s.refuseHTTP(w, no, len(body), routing, "header")
	}
	conn := &connection{}
	r = r.WithContext(context.WithValue(r.Context(), connectionKey{}, conn))
	r.Header, r.Body, r.ContentLength = headers.forSDK(), io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer := &safeAnswer{ResponseWriter: w}
	s.http.ServeHTTP(answer, r)
	answer.send()
	conn.mu.Lock()
	defer conn.mu.Unlock()
	routing.Tool = conn.tool
	return routing
}

// notFound answers a method outside the surface. Since 2026-07-28 the HTTP status tells it as well.
func (s *Server) notFound(w http.ResponseWriter, req *jsonrpc.Request, headers routingHeaders, routing httpd.Routing) httpd.Routing {
	status := http.StatusOK
	if headers.modern() {
		status = http.StatusNotFound
	}
	writeError(w, status, &frameError{code: errMethodNotFound.Code, reason: errMethodNotFound.Message, id: req.ID})
	routing.Reason = "method"
	return routing
}

// refuseHTTP answers a frame that is not one; its size and reason go to the log, never its payload.
func (s *Server) refuseHTTP(w http.ResponseWriter, no *frameError, size int, routing httpd.Routing, reason string) httpd.Routing {
	s.log.Warn("refused a frame", "bytes", size, "reason", no.reason)
	writeError(w, http.StatusBadRequest, no)
	routing.Reason = reason
	return routing
}

func writeError(w http.ResponseWriter, status int, no *frameError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(no.encode())
}

// noteTool remembers the tool of a request over HTTP.
func noteTool(ctx context.Context, name string) {
	if conn, ok := ctx.Value(connectionKey{}).(*connection); ok && conn.owner == "" {
		conn.mu.Lock()
		conn.tool = known(toolNames, name)
		conn.mu.Unlock()
	}
}
