package mcpserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
)

var testLimits = ImageLimits{MaxCount: 2, MaxBytesEach: 40, MaxTotalBytes: 60}

const (
	goodUUID = "123e4567-e89b-42d3-a456-426614174000"
	png      = "\x89PNG\r\n\x1a\n"
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func image(mime, data string) string {
	return fmt.Sprintf(`{"mime_type":%q,"data_base64":%q}`, mime, data)
}

func runWith(images ...string) string {
	return `{"request":"x","images":[` + strings.Join(images, ",") + `]}`
}

// proves A-MCP-02, A-MCP-08
func TestRunArgumentsAreRefusedByField(t *testing.T) {
	for args, field := range map[string]string{
		`{}`:                                  "request",
		`{"request":""}`:                      "request",
		`{"request":"   "}`:                   "request",
		`{"request":"\n\t\u3000\u200b"}`:      "request",
		`{"request":7}`:                       "request",
		`{"request":null}`:                    "request",
		`{"Request":"x"}`:                     "Request",
		`{"request":"x","extra":1}`:           "extra",
		`{"request":"x","session_id":"nope"}`: "session_id",
		`{"request":"x","session_id":""}`:     "session_id",
		`{"request":"x","session_id":"{123e4567-e89b-42d3-a456-426614174000}"}`:     "session_id",
		`{"request":"x","temperature":2.01}`:                                        "temperature",
		`{"request":"x","temperature":-0.01}`:                                       "temperature",
		`{"request":"x","temperature":"1"}`:                                         "temperature",
		`{"request":"x","temperature":1e999}`:                                       "temperature",
		`{"request":"x","images":{}}`:                                               "images",
		`[]`:                                                                        "arguments",
		`"x"`:                                                                       "arguments",
		`{"request":"x","request":"y"}`:                                             "arguments",
		runWith(image("image/gif", b64("GIF89a"))):                                  "images[0].mime_type",
		runWith(image("image/png", "")):                                             "images[0].data_base64",
		runWith(image("image/png", "!!!!")):                                         "images[0].data_base64",
		runWith(image("image/png", b64(png)+"\n")):                                  "images[0].data_base64",
		runWith(image("image/png", "iVBORw0KGgp=")):                                 "images[0].data_base64",
		runWith(image("image/png", b64("\xff\xd8\xff\xe0"))):                        "images[0].data_base64",
		runWith(image("image/jpeg", b64(png))):                                      "images[0].data_base64",
		runWith(image("image/png", b64(png+strings.Repeat("x", 33)))):               "images[0].data_base64",
		runWith(`{"mime_type":"image/png","data_base64":"` + b64(png) + `","x":1}`): "images[0].x",
		runWith(`7`): "images[0]",
		runWith(image("image/png", b64(png)), image("image/png", b64(png)), image("image/png", b64(png))):                               "images",
		runWith(image("image/png", b64(png+strings.Repeat("x", 30))), image("image/webp", b64("RIFF0000WEBP"+strings.Repeat("x", 20)))): "images",
	} {
		_, err := parseRun(json.RawMessage(args), testLimits)
		e := fault.As(err)
		if e == nil || e.Code != fault.RequestInvalid || e.Target != field {
			t.Errorf("%s: error %v, want field %s", args, err, field)
		}
	}
}

func TestRunArgumentsAreAccepted(t *testing.T) {
	in, err := parseRun(json.RawMessage(`{"request":"fix it","session_id":"123E4567-E89B-42D3-A456-426614174000","temperature":0,"images":[`+
		image("image/png", b64(png))+`,`+image("image/webp", b64("RIFF0000WEBPdata"))+`]}`), testLimits)
	if err != nil {
		t.Fatal(err)
	}
	if in.Request != "fix it" || in.SessionID != goodUUID || in.Temperature == nil || *in.Temperature != 0 || len(in.Images) != 2 {
		t.Errorf("got %+v", in)
	}
}

// proves A-MCP-03
func TestStatusArguments(t *testing.T) {
	for args, field := range map[string]string{
		`{}`:                "task_id",
		`{"task_id":"1"}`:   "task_id",
		`{"task_id":["x"]}`: "task_id",
		`{"task_id":"` + goodUUID + `","session_id":1}`: "session_id",
		`{"task_id":"` + goodUUID + `","verbose":true}`: "verbose",
	} {
		if e := fault.As(second(parseStatus(json.RawMessage(args)))); e == nil || e.Target != field {
			t.Errorf("%s: error %v, want field %s", args, e, field)
		}
	}
	in, err := parseStatus(json.RawMessage(`{"task_id":"` + goodUUID + `"}`))
	if diff := cmp.Diff(statusInput{TaskID: goodUUID}, in); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func second[T any](_ T, err error) error { return err }

func FuzzParseRun(f *testing.F) {
	f.Add([]byte(runWith(image("image/png", b64(png)))))
	f.Fuzz(func(t *testing.T, args []byte) {
		in, err := parseRun(args, testLimits)
		if err == nil && (in.Request == "" || len(in.Images) > testLimits.MaxCount) {
			t.Errorf("accepted %q as %+v", args, in)
		}
		if err != nil && fault.As(err) == nil {
			t.Errorf("%q: error without a code: %v", args, err)
		}
	})
}
