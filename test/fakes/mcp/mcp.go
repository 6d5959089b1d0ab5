// Package mcp is an MCP server over standard input and output, for the real CLI to start: tools that ask the person with
// a form or a web address, a tool that wants approval, and one that only echoes. What each call came with, and what it got
// back from the person, is appended to a file, one JSON object a line, so that a test can see both ends.
package mcp

import (
	"context"
	"encoding/json"
	"os"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Call is one line of the file.
type Call struct {
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args,omitempty"`
	Action string          `json:"action,omitempty"` // of the elicitation
	Got    map[string]any  `json:"got,omitempty"`
}

// Form is what ask_form asks for: every kind of field.
const Form = `{"type":"object","properties":{
	"name":{"type":"string","title":"Name","minLength":2,"maxLength":10},
	"email":{"type":"string","format":"email"},
	"age":{"type":"integer","minimum":0,"maximum":150},
	"score":{"type":"number"},
	"agree":{"type":"boolean","default":true},
	"color":{"type":"string","enum":["red","green"]},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
	"tags":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]}}
	},"required":["name","age"]}`

type server struct {
	mu   sync.Mutex
	path string
}

// Run serves until the client goes away; calls are appended to the file path.
func Run(ctx context.Context, path string) error {
	s := &server{path: path}
	m := sdk.NewServer(&sdk.Implementation{Name: "fake", Version: "1.0.0"}, nil)
	no, yes := false, true
	readOnly := &sdk.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, OpenWorldHint: &no}
	tool := func(name, about string, hints *sdk.ToolAnnotations, elicit *sdk.ElicitParams) {
		m.AddTool(&sdk.Tool{Name: name, Description: about, Annotations: hints, InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return s.call(ctx, r, elicit)
			})
	}
	tool("echo", "repeats", readOnly, nil)
	tool("danger", "destroys", &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}, nil)
	tool("ask_form", "asks with a form", readOnly, &sdk.ElicitParams{Mode: "form", Message: "Please fill", RequestedSchema: json.RawMessage(Form)})
	tool("ask_url", "asks to open an address", readOnly, &sdk.ElicitParams{Mode: "url", Message: "Open this", URL: "https://example.com/auth?x=1", ElicitationID: "el-1"})
	return m.Run(ctx, &sdk.StdioTransport{})
}

func (s *server) call(ctx context.Context, r *sdk.CallToolRequest, elicit *sdk.ElicitParams) (*sdk.CallToolResult, error) {
	c := Call{Tool: r.Params.Name, Args: r.Params.Arguments}
	text := "did " + c.Tool
	if elicit != nil {
		answer, err := r.Session.Elicit(ctx, elicit)
		if err != nil {
			c.Action = "error: " + err.Error()
		} else {
			c.Action, c.Got = answer.Action, answer.Content
		}
		text = c.Action
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, s.note(c)
}

func (s *server) note(c Call) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(data, '\n'))
	return err
}
