package mcpserver

import (
	"context"
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

// allowOnly answers everything else with -32601, and makes errors safe to tell.
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
			if err != nil {
				return nil, safeError(err)
			}
			return result, nil
		}
	}
}
