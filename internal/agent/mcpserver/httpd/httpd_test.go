package httpd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"sekisho/test/goroutines"
)

func TestMain(m *testing.M) { goroutines.Main(m) }

// Every way to be somebody else, or to be read in two ways, is refused, and the request beside it is served.
//
// proves A-MCP-05
func TestOnlyThePlainRequestOfALocalClientGetsIn(t *testing.T) {
	request := func(line, host, more string) string {
		return line + "\r\nHost: " + host + "\r\nContent-Type: application/json\r\n" + more + "Connection: close\r\nContent-Length: 2\r\n\r\n{}"
	}
	const post, host = "POST /mcp HTTP/1.1", "127.0.0.1:PORT"
	for name, c := range map[string]struct {
		text string
		want int // status; 200 is a control
	}{
		"control":                         {good, 200},
		"control: localhost":              {request(post, "localhost:PORT", ""), 200},
		"control: IPv6 form":              {request(post, "[::1]:PORT", ""), 200},
		"control: own origin":             {request(post, host, "Origin: http://127.0.0.1:PORT\r\n"), 200},
		"control: own origin, localhost":  {request(post, host, "Origin: http://localhost:PORT\r\n"), 200},
		"control: query":                  {request("POST /mcp?a=b HTTP/1.1", host, ""), 200},
		"control: same-origin fetch":      {request(post, host, "Sec-Fetch-Site: same-origin\r\n"), 200},
		"control: HTTP/1.0":               {request("POST /mcp HTTP/1.0", host, ""), 200},
		"control: upgrade is ignored":     {request(post, host, "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"), 200},
		"control: a client's Mcp session": {request(post, host, "Mcp-Session-Id: 1\r\n"), 200},
		"control: only JSON is accepted":  {request(post, host, "Accept: application/json\r\n"), 200},

		"other host":            {request(post, "evil.example:PORT", ""), 403},
		"rebound name":          {request(post, "127.0.0.1.evil.example:PORT", ""), 403},
		"no port":               {request(post, "127.0.0.1", ""), 403},
		"other port":            {request(post, "127.0.0.1:1", ""), 403},
		"other loopback":        {request(post, "127.0.0.2:PORT", ""), 403},
		"short form":            {request(post, "127.1:PORT", ""), 403},
		"any address":           {request(post, "0.0.0.0:PORT", ""), 403},
		"trailing dot":          {request(post, "localhost.:PORT", ""), 403},
		"upper case":            {request(post, "LOCALHOST:PORT", ""), 403},
		"long IPv6":             {request(post, "[0:0:0:0:0:0:0:1]:PORT", ""), 403},
		"IPv6 zone":             {request(post, "[::1%25lo]:PORT", ""), 403},
		"mapped":                {request(post, "[::ffff:127.0.0.1]:PORT", ""), 403},
		"empty host":            {request(post, "", ""), 403},
		"user in host":          {request(post, "user@127.0.0.1:PORT", ""), 400},
		"padded port":           {request(post, "127.0.0.1:0PORT", ""), 403},
		"two hosts":             {request(post, host, "Host: evil.example\r\n"), 400},
		"no host":               {"POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", 400},
		"absolute form":         {request("POST http://127.0.0.1:PORT/mcp HTTP/1.1", host, ""), 400},
		"absolute form, evil":   {request("POST http://evil.example/mcp HTTP/1.1", host, ""), 400},
		"CONNECT":               {request("CONNECT 127.0.0.1:PORT HTTP/1.1", host, ""), 400},
		"CONNECT a path":        {request("CONNECT /mcp HTTP/1.1", host, ""), 405},
		"asterisk":              {request("OPTIONS * HTTP/1.1", host, ""), 400},
		"origin null":           {request(post, host, "Origin: null\r\n"), 403},
		"empty origin":          {request(post, host, "Origin:\r\n"), 403},
		"other origin":          {request(post, host, "Origin: http://evil.example\r\n"), 403},
		"other local origin":    {request(post, host, "Origin: http://localhost:3000\r\n"), 403},
		"secure origin":         {request(post, host, "Origin: https://127.0.0.1:PORT\r\n"), 403},
		"origin with path":      {request(post, host, "Origin: http://127.0.0.1:PORT/\r\n"), 403},
		"two origins":           {request(post, host, "Origin: http://127.0.0.1:PORT\r\nOrigin: http://evil.example\r\n"), 403},
		"two equal origins":     {request(post, host, "Origin: http://127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT\r\n"), 403},
		"cross-site":            {request(post, host, "Sec-Fetch-Site: cross-site\r\n"), 403},
		"same-site":             {request(post, host, "Sec-Fetch-Site: same-site\r\n"), 403},
		"other path":            {request("POST / HTTP/1.1", host, ""), 404},
		"longer path":           {request("POST /mcp/ HTTP/1.1", host, ""), 404},
		"two slashes":           {request("POST //mcp HTTP/1.1", host, ""), 404},
		"dots":                  {request("POST /x/../mcp HTTP/1.1", host, ""), 404},
		"encoded":               {request("POST /%6dcp HTTP/1.1", host, ""), 404},
		"upper case path":       {request("POST /MCP HTTP/1.1", host, ""), 404},
		"event stream endpoint": {request("GET /sse HTTP/1.1", host, ""), 404},
		"GET":                   {request("GET /mcp HTTP/1.1", host, ""), 405},
		"GET for an SSE":        {request("GET /mcp HTTP/1.1", host, "Accept: text/event-stream\r\n"), 405},
		"WebSocket":             {request("GET /mcp HTTP/1.1", host, "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"), 405},
		"DELETE":                {request("DELETE /mcp HTTP/1.1", host, "Mcp-Session-Id: 1\r\n"), 405},
		"PUT":                   {request("PUT /mcp HTTP/1.1", host, ""), 405},
		"TRACE":                 {request("TRACE /mcp HTTP/1.1", host, ""), 405},
		"OPTIONS (CORS)":        {request("OPTIONS /mcp HTTP/1.1", host, "Access-Control-Request-Method: POST\r\n"), 405},
		"lower case method":     {request("post /mcp HTTP/1.1", host, ""), 405},
		"form":                  {strings.Replace(good, "application/json", "text/plain", 1), 415},
		"two types":             {request(post, host, "Content-Type: text/plain\r\n"), 415},
		"other charset":         {strings.Replace(good, "application/json", "application/json; charset=utf-16", 1), 415},
		"compressed":            {request(post, host, "Content-Encoding: gzip\r\n"), 415},
		"only streams":          {request(post, host, "Accept: text/event-stream\r\n"), 406},
		"empty body":            {head + "Connection: close\r\nContent-Length: 0\r\n\r\n", 400},
		"too large":             {head + "Connection: close\r\nContent-Length: 41943041\r\n\r\n{}", 413},
		"negative length":       {head + "Connection: close\r\nContent-Length: -1\r\n\r\n{}", 400},
		"plus length":           {head + "Connection: close\r\nContent-Length: +2\r\n\r\n{}", 400},
		"two lengths":           {head + "Connection: close\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
		"list of lengths":       {head + "Connection: close\r\nContent-Length: 2, 3\r\n\r\n{}", 400},
		"unknown coding":        {head + "Connection: close\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
		"obscured coding":       {head + "Connection: close\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
		"two codings":           {head + "Connection: close\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501},
		"space before colon":    {head + "Content-Length : 2\r\nConnection: close\r\n\r\n{}", 400},
		"folded header":         {head + " X: 1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", 415}, // it belongs to the type
		"NUL in header":         {request(post, host, "X: a\x00b\r\n"), 400},
		"bare CR in header":     {request(post, host, "X: a\rb\r\n"), 400},
		"HTTP/2 preface":        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
		"HTTP/9":                {request("POST /mcp HTTP/9.9", host, ""), 505},
		"TLS":                   {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		"garbage":               {"\x00\xff\xfe\r\n\r\n", 400},
		"huge header":           {head + "X: " + strings.Repeat("a", 64<<10) + "\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", 431},
		"many headers":          {head + strings.Repeat("X: a\r\n", 8<<10) + "Connection: close\r\nContent-Length: 2\r\n\r\n{}", 431},
		"unknown expectation":   {head + "Expect: a-miracle\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", 417},
		"bad chunk":             {head + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", 400},
		"shorter than promised": {head + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nffffffffffffffffff\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, nil)
			answer := h.raw(t, c.text)
			if !strings.Contains(strings.SplitN(answer, "\r\n", 2)[0], fmt.Sprintf(" %d ", c.want)) {
				t.Errorf("answer %.300q, want status %d", answer, c.want)
			}
			if served := h.count(); served != map[bool]int{true: 1}[c.want == 200] {
				t.Errorf("%d requests got in", served)
			}
			if allow := strings.Contains(answer, "\r\nAllow: POST\r\n"); allow != (c.want == 405) {
				t.Errorf("Allow: %v in %q", allow, answer)
			}
			for _, never := range []string{"event-stream", "Access-Control", "101 Switching", "Upgrade:", "Mcp-Session-Id", "Set-Cookie"} {
				if strings.Contains(answer, never) {
					t.Errorf("the answer holds %s: %q", never, answer)
				}
			}
		})
	}
}

// Two lengths that disagree must not make two requests out of one: the chunked one counts, and what follows it is the next
// request of the same client, judged like the first.
//
// proves A-MCP-05
func TestFramingIsReadInOneWay(t *testing.T) {
	h := open(t, nil)
	smuggled := "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	answer := h.raw(t, head+"Content-Length: "+fmt.Sprint(len(smuggled)+7)+"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"+smuggled)
	if got := strings.Count(answer, "HTTP/1.1 "); got < 1 || got > 2 || h.count() > 1 || got == 2 && !strings.Contains(answer, "HTTP/1.1 403 ") {
		t.Errorf("%d requests got in, answers %q", h.count(), answer)
	}
}

// proves A-MCP-05
func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	h := open(t, nil)
	one := func(n int) string {
		return head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", n, strings.Repeat("x", n))
	}
	answer := h.raw(t, one(3)+one(5)+strings.Replace(one(7), "127.0.0.1:PORT", "evil.example", 1)+one(9))
	r := bufio.NewReader(strings.NewReader(answer))
	for _, want := range []string{"200 took 3, context <nil>", "200 took 5, context <nil>", "403 The Host header must name this loopback address and port.\n"} {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%v in %q", err, answer)
		}
		body, err := io.ReadAll(resp.Body)
		if got := fmt.Sprintf("%d %s", resp.StatusCode, body); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 { // a refused connection is not read further
		t.Errorf("after the refusal: %q", rest)
	}
}

// A connection whose peer is not this user, or nobody knows, is refused before anything of it is read.
//
// proves A-MCP-05
func TestOtherUsersAreRefusedUnread(t *testing.T) {
	for name, owner := range map[string]func(*net.TCPConn) (int, error){
		"other user": func(*net.TCPConn) (int, error) { return 8, nil },
		"nobody":     func(*net.TCPConn) (int, error) { return 7, errors.New("unknown") },
	} {
		h := open(t, func(c *Config) { c.Owner = owner })
		// The body does not come: an answer shows that nobody waits for it. Expect: 100-continue must not invite it.
		for _, text := range []string{good, head + "Content-Length: 1000\r\n\r\n", head + "Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n", "", "garbage"} {
			answer := h.raw(t, text)
			if !strings.HasPrefix(answer, "HTTP/1.1 403 ") || strings.Contains(answer, "100 Continue") || !strings.HasSuffix(answer, "started it\n") {
				t.Errorf("%s, %.20q: %q", name, text, answer)
			}
		}
		if h.count() > 0 {
			t.Errorf("%s: %d requests got in", name, h.count())
		}
		for _, r := range h.recorded() {
			if r.Reason != "peer" || r.Status != 403 || r.Verb != "other" || r.Endpoint != "other" {
				t.Errorf("%s: recorded %+v", name, r)
			}
		}
	}
}

// proves A-MCP-05, A-MCP-08
func TestBodiesUpToTheLimit(t *testing.T) {
	h := open(t, nil)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, c := range []struct {
		size, status int
		chunked      bool
	}{{1, 200, false}, {1, 200, true}, {firstRead - 1, 200, true}, {firstRead, 200, true}, {firstRead + 1, 200, false}, {MaxBody, 200, false}, {MaxBody, 200, true}, {MaxBody + 1, 413, false}, {MaxBody + 1, 413, true}} {
		var body io.Reader = bytes.NewReader(make([]byte, c.size))
		if c.chunked {
			body = io.MultiReader(body)
		}
		resp, err := client.Post(fmt.Sprintf("http://127.0.0.1:%d/mcp", h.port()), "application/json", body)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || c.status == 200 && !strings.HasPrefix(string(answer), fmt.Sprintf("took %d,", c.size)) {
			t.Errorf("%+v: %s %s", c, resp.Status, answer)
		}
	}
	if answer := h.raw(t, good); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Errorf("afterwards: %q", answer)
	}
	h.Shutdown(t.Context())
	if free := h.http.Handler.(*door).bodies.free; free != MaxBodies {
		t.Errorf("%d bytes of the budget are free in the end, want all %d", free, MaxBodies)
	}
}

func FuzzGate(f *testing.F) {
	f.Add("POST", "/mcp", "127.0.0.1:8080", "http://127.0.0.1:8080", "same-origin", "application/json", "application/json, text/event-stream")
	f.Add("GET", "http://user@[::1%25lo]:8080/mcp?x", "[::1]:8080", "null", "none", "application/json; charset=utf-8", "*/*;q=0")
	g := newGate(netip.MustParseAddrPort("127.0.0.1:8080"))
	f.Fuzz(func(t *testing.T, method, target, host, origin, site, kind, accept string) {
		text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nSec-Fetch-Site: %s\r\nContent-Type: %s\r\nAccept: %s\r\n\r\n", method, target, host, origin, site, kind, accept)
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil || g.check(r) != nil {
			return
		}
		// Whoever gets in has said exactly this.
		if r.Method != "POST" || !strings.HasPrefix(r.RequestURI+"?", "/mcp?") || r.URL.Path != "/mcp" {
			t.Errorf("%q got in", text)
		}
		switch r.Host {
		case "127.0.0.1:8080", "[::1]:8080", "localhost:8080":
		default:
			t.Errorf("host %q got in", r.Host)
		}
		for _, o := range r.Header["Origin"] {
			if o != "http://127.0.0.1:8080" && o != "http://[::1]:8080" && o != "http://localhost:8080" {
				t.Errorf("origin %q got in", o)
			}
		}
		if !strings.Contains(strings.ToLower(r.Header.Get("Content-Type")), "application/json") {
			t.Errorf("type %q got in", r.Header.Get("Content-Type"))
		}
	})
}
