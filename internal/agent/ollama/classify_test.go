package ollama

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sekisho/internal/fault"
)

// proves A-OLL-06, A-OLL-08
func TestClassification(t *testing.T) {
	type verdict struct {
		code    fault.Code
		variant string
		retry   bool
	}
	for _, tc := range []struct {
		status int
		body   string
		want   verdict
	}{
		{400, `{"error":"the input length exceeds the context length"}`, verdict{code: fault.OllamaContextOverflow}},
		{400, `{"error":"the prompt is longer than the context length currently available to the model; shorten it"}`, verdict{code: fault.OllamaContextOverflow}},
		{500, `{"error":"no user query found in messages"}`, verdict{code: fault.OllamaContextOverflow}},
		{400, `{"error":"registry.ollama.ai/library/x does not support tools"}`, verdict{code: fault.OllamaToolsUnsupported}},
		{400, `{"error":"\"x\" does not support thinking"}`, verdict{code: fault.OllamaRequestRejected, variant: "thinking"}},
		{400, `{"error":"illegal base64 data at input byte 0"}`, verdict{code: fault.OllamaRequestRejected}},
		{401, `{"error":"unauthorized","signin_url":"https://ollama.com/x"}`, verdict{code: fault.OllamaCredentialRejected}},
		{402, `{"error":"payment"}`, verdict{code: fault.OllamaQuotaExceeded}},
		{403, `{"error":"ollama cloud is disabled: remote model is unavailable"}`, verdict{code: fault.OllamaRequestRejected}},
		{403, `forbidden`, verdict{code: fault.OllamaCredentialRejected}},
		{404, `{"error":"model 'nope' not found"}`, verdict{code: fault.OllamaModelNotFound}},
		{404, `404 page not found`, verdict{code: fault.OllamaRequestRejected, variant: "endpoint"}},
		{405, `405 method not allowed`, verdict{code: fault.OllamaRequestRejected, variant: "endpoint"}},
		{307, ``, verdict{code: fault.OllamaRequestRejected, variant: "redirect"}},
		{408, ``, verdict{code: fault.OllamaUnavailable, retry: true}},
		{429, `{"error":"you (x) have reached your session usage limit, upgrade for higher limits: https://ollama.com/upgrade"}`, verdict{code: fault.OllamaQuotaExceeded}},
		{429, `{"error":"timed out waiting for a concurrent request slot"}`, verdict{code: fault.OllamaUnavailable, retry: true}},
		{499, `{"error":"request canceled"}`, verdict{code: fault.AgentCancelled}},
		{500, `{"error":"model runner has unexpectedly stopped, this may be due to resource limitations"}`, verdict{code: fault.OllamaUnavailable, retry: true}},
		{500, `{"error":"option \"num_ctx\" must be of type integer"}`, verdict{code: fault.OllamaRequestRejected}},
		{500, `{"error":"invalid JSON schema in format"}`, verdict{code: fault.OllamaRequestRejected}},
		{500, `{"error":"invalid format: \"3\"; expected \"json\" or a valid JSON Schema object"}`, verdict{code: fault.OllamaRequestRejected}},
		{500, `{"error":"unexpected end of JSON input"}`, verdict{code: fault.OllamaRequestRejected}},
		{500, `{"error":"error parsing tool call: raw='{', err=unexpected EOF"}`, verdict{code: fault.OllamaModelOutput, retry: true}},
		{502, `<html>502 Bad Gateway</html>`, verdict{code: fault.OllamaUnavailable, retry: true}},
		{503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, verdict{code: fault.OllamaUnavailable, retry: true}},
		{504, ``, verdict{code: fault.OllamaUnavailable, retry: true}},
		{524, ``, verdict{code: fault.OllamaUnavailable, retry: true}},
		{599, `{"error":"scriptmodel: no rule matches"}`, verdict{code: fault.OllamaRequestRejected}},
		{418, `{"error":{"message":"teapot"}}`, verdict{code: fault.OllamaRequestRejected}},
	} {
		c, s, _ := stubbed(t, testConfig(), stubAnswer{status: tc.status, body: tc.body})
		_, err := c.Chat(t.Context(), ask("x"))
		e := fault.As(err)
		if e == nil {
			t.Errorf("%d %s: got %v", tc.status, tc.body, err)
			continue
		}
		got := verdict{e.Code, e.Variant, len(s.seen) > 1}
		if got != tc.want {
			t.Errorf("%d %s: got %+v, want %+v", tc.status, tc.body, got, tc.want)
		}
		if e.Args["endpoint"] != "http://127.0.0.1:11434" || e.Args["model"] != "m" {
			t.Errorf("%d: endpoint and model are missing: %v", tc.status, e.Args)
		}
	}
}

// proves A-OLL-06
func TestRetries(t *testing.T) {
	busy := stubAnswer{status: 503, body: `{"error":"server busy"}`}
	model := stubAnswer{status: 500, body: `{"error":"error parsing tool call: raw=x"}`}
	reset := stubAnswer{err: errors.New("read: connection reset by peer")}
	ok := stubAnswer{status: 200, body: okReply}
	after := func(value string) stubAnswer {
		return stubAnswer{status: 429, header: http.Header{"Retry-After": {value}}, body: `{"error":"slow down"}`}
	}
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		answers []stubAnswer
		waits   []time.Duration
		want    fault.Code
		variant string
	}{
		"none":              {[]stubAnswer{ok}, nil, "", ""},
		"passes":            {[]stubAnswer{busy, reset, model, ok}, []time.Duration{250 * ms, 500 * ms, 1000 * ms}, "", ""},
		"exhausted":         {[]stubAnswer{busy}, []time.Duration{250 * ms, 500 * ms, 1000 * ms}, fault.OllamaUnavailable, ""},
		"model exhausted":   {[]stubAnswer{model}, []time.Duration{250 * ms, 500 * ms, 1000 * ms}, fault.OllamaModelOutput, ""},
		"connection":        {[]stubAnswer{reset}, []time.Duration{250 * ms, 500 * ms, 1000 * ms}, fault.OllamaUnavailable, ""},
		"longer wait asked": {[]stubAnswer{after("7"), ok}, []time.Duration{7000 * ms}, "", ""},
		"shorter is ours":   {[]stubAnswer{busy, busy, after("0"), ok}, []time.Duration{250 * ms, 500 * ms, 1000 * ms}, "", ""},
		"ten seconds":       {[]stubAnswer{after("10"), ok}, []time.Duration{10000 * ms}, "", ""},
		"too long":          {[]stubAnswer{after("11"), ok}, nil, fault.OllamaUnavailable, "retry_after"},
		"far date":          {[]stubAnswer{after(time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)), ok}, nil, fault.OllamaUnavailable, "retry_after"},
		"past date":         {[]stubAnswer{after(time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)), ok}, []time.Duration{250 * ms}, "", ""},
	} {
		c, s, waits := stubbed(t, testConfig(), tc.answers...)
		_, err := c.Chat(t.Context(), ask("x"))
		if d := cmp.Diff(tc.waits, *waits, cmp.Transformer("nil", func(w []time.Duration) []time.Duration { return append([]time.Duration{}, w...) })); d != "" {
			t.Errorf("%s: waits %s", name, d)
		}
		if fault.CodeOf(err) != tc.want {
			t.Errorf("%s: got %v", name, err)
		}
		if e := fault.As(err); e != nil && e.Variant != tc.variant {
			t.Errorf("%s: variant %q", name, e.Variant)
		}
		for _, x := range s.seen {
			if x.body != s.seen[0].body {
				t.Errorf("%s: a retry sent other bytes", name)
			}
		}
	}
}

// The real timer: waits pass in order and a cancelled context ends one at once.
//
// proves A-OLL-06
func TestWaitingIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(testConfig())
		if err != nil {
			t.Fatal(err)
		}
		s := &stub{answers: []stubAnswer{{status: 503}}}
		c.http.Transport = s
		start := time.Now()
		if _, err := c.Chat(t.Context(), ask("x")); fault.CodeOf(err) != fault.OllamaUnavailable {
			t.Errorf("got %v", err)
		}
		if d := time.Since(start); d != 1750*time.Millisecond || len(s.seen) != 4 {
			t.Errorf("%d attempts in %v", len(s.seen), d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start = time.Now()
		_, err = c.Chat(ctx, ask("x"))
		if !errors.Is(err, context.DeadlineExceeded) || fault.As(err) != nil || time.Since(start) != 300*time.Millisecond {
			t.Errorf("cancelled after %v: %v", time.Since(start), err)
		}
	})
}

// proves A-OLL-06
func TestServerTextIsBounded(t *testing.T) {
	c, _, _ := stubbed(t, testConfig(), stubAnswer{status: 400, body: fmt.Sprintf(`{"error":"a\nb%s"}`, strings.Repeat("é", 5000))})
	_, err := c.Chat(t.Context(), ask("x"))
	detail := fault.As(err).Args["detail"]
	if len(detail) > 310 || strings.ContainsAny(detail, "\n") || !strings.HasPrefix(detail, "a b") {
		t.Errorf("detail has %d bytes: %.40q", len(detail), detail)
	}
}
