package ollama

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/agent"
	"sekisho/internal/fault"
)

// proves A-OLL-05
func TestCapabilities(t *testing.T) {
	for body, want := range map[string]Capabilities{
		`{"capabilities":["completion","tools","thinking"],"model_info":{"llama.context_length":8192}}`:                {Known: true, Tools: true, Thinking: true, ContextLength: 8192},
		`{"capabilities":["completion","vision"],"model_info":{"a.rope.context_length":9,"general.architecture":"a"}}`: {Known: true, Vision: true},
		`{"capabilities":[]}`:   {Known: true},
		`{"license":"x"}`:       {},
		`{"capabilities":null}`: {},
	} {
		c, s, _ := stubbed(t, testConfig(), stubAnswer{status: 200, body: body})
		got, err := c.Capabilities(t.Context())
		if err != nil || s.seen[0].path != "/api/show" || s.seen[0].body != `{"model":"m"}` {
			t.Errorf("%s: %v, %+v", body, err, s.seen)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", body, d)
		}
	}
	c, _, _ := stubbed(t, testConfig(), stubAnswer{status: 404, body: `{"error":"model 'm' not found"}`})
	if _, err := c.Capabilities(t.Context()); fault.CodeOf(err) != fault.OllamaModelNotFound {
		t.Errorf("got %v", err)
	}
}

// proves A-OLL-05
func TestImagesNeedVision(t *testing.T) {
	r := ask("see")
	r.Messages[0].Images = []agent.Image{{MIMEType: "image/png", Data: "QUJD"}}
	for body, want := range map[string]string{
		`{"capabilities":["completion","vision"]}`: "", `{"capabilities":["completion"]}`: "ollama.vision_unsupported", `{}`: "ollama.vision_unsupported.unknown",
	} {
		c, s, _ := stubbed(t, testConfig(), stubAnswer{status: 200, body: body}, stubAnswer{status: 200, body: okReply})
		_, err := c.Chat(t.Context(), r)
		chats := 0
		for _, x := range s.seen {
			if x.path == "/api/chat" {
				chats++
				if !strings.Contains(x.body, `"images":["QUJD"]`) {
					t.Errorf("the image is missing: %s", x.body)
				}
			}
		}
		e := fault.As(err)
		switch {
		case want == "" && (err != nil || chats != 1):
			t.Errorf("%s: %v, %d chats", body, err, chats)
		case want != "" && (e == nil || e.SentenceKey() != "error."+want || chats != 0):
			t.Errorf("%s: %v, %d chats", body, err, chats)
		}
	}
	c, s, _ := stubbed(t, testConfig(), stubAnswer{err: errors.New("no route to host")})
	if _, err := c.Chat(t.Context(), r); fault.CodeOf(err) != fault.OllamaUnavailable || len(s.seen) != 4 {
		t.Errorf("unreachable: %v", err)
	}
}
