package mcpserver

import (
	"context"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// methods is the whole surface, on both transports and in both eras; the SDK alone would also answer prompts, resources,
// logging and an event stream.
var methods = []string{
	"initialize", "notifications/initialized", "notifications/cancelled", "ping",
	"server/discover", "tools/list", "tools/call",
	"tasks/get", "tasks/update", "tasks/cancel",
}

var errMethodNotFound = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}

// allowOnly answers everything else with -32601, and gives plain Go errors, which the SDK would send with code 0 and their
// text, the internal-error code.
func allowOnly(allowed []string) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if !slices.Contains(allowed, method) {
				return nil, errMethodNotFound
			}
			if call, ok := req.(*mcp.CallToolRequest); ok {
				noteTool(ctx, call.Params.Name)
			}
			result, err := next(ctx, method, req)
			if err != nil && !coded(err) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
			return result, err
		}
	}
}

// coded reports whether the SDK sends an error with a code of its own.
func coded(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && wire.Code != 0
}
