package mcpserver

import (
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// proves A-MCP-08
func TestParseFrameRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		code int64
		id   any
	}{
		"garbage":              {"hello", jsonrpc.CodeParseError, nil},
		"byte order mark":      {"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", jsonrpc.CodeParseError, nil},
		"invalid UTF-8":        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\"}", jsonrpc.CodeParseError, nil},
		"cut":                  {`{"jsonrpc":"2.0","id":1`, jsonrpc.CodeParseError, nil},
		"two values":           {`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, jsonrpc.CodeParseError, nil},
		"deep":                 {`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}`, jsonrpc.CodeParseError, nil},
		"duplicate member":     {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, jsonrpc.CodeParseError, nil},
		"number":               {`42`, jsonrpc.CodeInvalidRequest, nil},
		"batch":                {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, jsonrpc.CodeInvalidRequest, nil},
		"fractional id":        {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, jsonrpc.CodeInvalidRequest, nil},
		"huge id":              {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, jsonrpc.CodeInvalidRequest, nil},
		"null id":              {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, jsonrpc.CodeInvalidRequest, nil},
		"object id":            {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, jsonrpc.CodeInvalidRequest, nil},
		"wrong version":        {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, jsonrpc.CodeInvalidRequest, int64(7)},
		"no method":            {`{"jsonrpc":"2.0","id":"a"}`, jsonrpc.CodeInvalidRequest, "a"},
		"empty method":         {`{"jsonrpc":"2.0","id":7,"method":""}`, jsonrpc.CodeInvalidRequest, int64(7)},
		"scalar params":        {`{"jsonrpc":"2.0","id":7,"method":"ping","params":3}`, jsonrpc.CodeInvalidRequest, int64(7)},
		"method in wrong case": {`{"jsonrpc":"2.0","id":7,"METHOD":"ping"}`, jsonrpc.CodeInvalidRequest, int64(7)},
	} {
		req, err := parseFrame([]byte(c.line))
		var refused *frameError
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %+v, %v", name, req, err)
			continue
		}
		if refused.code != c.code || refused.id.Raw() != c.id {
			t.Errorf("%s: code %d id %v (%s), want %d %v", name, refused.code, refused.id.Raw(), refused.reason, c.code, c.id)
		}
		if strings.Contains(refused.reason, "hello") {
			t.Errorf("%s: the reason repeats the payload: %s", name, refused.reason)
		}
	}
}

func TestParseFrameAccepts(t *testing.T) {
	for line, want := range map[string]any{
		`{"jsonrpc":"2.0","id":0,"method":"ping"}`:                              int64(0),
		`{"jsonrpc":"2.0","id":"x-1","method":"tools/call","params":{"a":[1]}}`: "x-1",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                nil,
		`{"jsonrpc":"2.0","id":-5,"method":"ping","trace":"unknown members"}`:   int64(-5),
		`  {"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}  `:           int64(9007199254740991),
	} {
		req, err := parseFrame([]byte(line))
		if err != nil || req.ID.Raw() != want {
			t.Errorf("%s: id %v, error %v", line, req, err)
		}
	}
	if _, err := parseFrame([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)); !errors.Is(err, errResponse) {
		t.Errorf("a response: %v", err)
	}
}

func FuzzParseFrame(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_run"}}`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, line []byte) {
		req, err := parseFrame(line)
		if (req == nil) == (err == nil) {
			t.Errorf("request %v with error %v", req, err)
		}
		if req != nil && (req.Method == "" || req.IsCall() && req.ID.Raw() == nil) {
			t.Errorf("accepted %q as %+v", line, req)
		}
	})
}
