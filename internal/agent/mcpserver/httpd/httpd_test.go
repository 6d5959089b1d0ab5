package httpd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inside answers every admitted request with its size, and remembers it.
type inside struct {
	mu     sync.Mutex
	bodies []int
	ended  []error // of the requests' contexts, when they were answered
	// hold, when set, is waited for inside; entered gets a token before.
	hold, entered chan struct{}
}

func (i *inside) Answer(w http.ResponseWriter, r *http.Request, body []byte) Routing {
	i.mu.Lock()
	i.bodies = append(i.bodies, len(body))
	i.mu.Unlock()
	if i.hold != nil {
		i.entered <- struct{}{}
		<-i.hold
	}
	i.mu.Lock()
	i.ended = append(i.ended, r.Context().Err())
	i.mu.Unlock()
	fmt.Fprintf(w, "took %d, context %v", len(body), r.Context().Err())
	return Routing{Method: "ping"}
}

func (i *inside) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.bodies)
}

// house is a running server and what it recorded.
type house struct {
	*Server
	*inside
	mu      sync.Mutex
	records []Record
	log     *bytes.Buffer
}

// open starts a server on a port of its own; change may alter its configuration.
func open(t *testing.T, change func(*Config)) *house {
	t.Helper()
	h := &house{inside: &inside{}, log: &bytes.Buffer{}}
	c := Config{Addr: netip.MustParseAddrPort("127.0.0.1:0"), Answer: h.inside, Owner: func(*net.TCPConn) (int, error) { return 7, nil }, Self: 7,
		Record: func(r Record) { h.mu.Lock(); h.records = append(h.records, r); h.mu.Unlock() },
		Log:    slog.New(slog.NewTextHandler(h.log, nil))}
	if change != nil {
		change(&c)
	}
	var err error
	if h.Server, err = Listen(c); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve() }()
	t.Cleanup(func() {
		// Not Close: the HTTP library's goroutines outlive that a little.
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(h.Shutdown(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *house) recorded() []Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Record(nil), h.records...)
}

func (h *house) port() int { return h.listener.Addr().(*net.TCPAddr).Port }

func (h *house) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", h.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second)) // only against a hang of the test
	return c
}

// raw sends bytes as they are, with PORT replaced, and returns everything that comes back until the server closes.
func (h *house) raw(t *testing.T, text string) string {
	t.Helper()
	c := h.dial(t)
	if _, err := io.WriteString(c, strings.ReplaceAll(text, "PORT", fmt.Sprint(h.port()))); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("%q, then %v", answer, err)
	}
	return string(answer)
}

const head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n"

// good is a complete request on a connection that ends after it.
const good = head + "Connection: close\r\nContent-Length: 2\r\n\r\n{}"

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

// Another user's connections take none of the places, however many there are, and none is left behind.
//
// proves A-MCP-05
func TestOtherUsersTakeNoPlaces(t *testing.T) {
	var foreign sync.Map
	h := open(t, func(c *Config) {
		c.Owner = func(tcp *net.TCPConn) (int, error) {
			if _, ok := foreign.Load(tcp.RemoteAddr().String()); ok {
				return 8, nil
			}
			return 7, nil
		}
	})
	for range 3 * MaxConnections {
		// The address is marked before the connection exists.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		local := l.Addr().(*net.TCPAddr)
		l.Close()
		foreign.Store(local.String(), true)
		c, err := (&net.Dialer{LocalAddr: local}).Dial("tcp", h.listener.Addr().String())
		if err == nil { // else it was reset already
			defer c.Close()
		}
	}
	if answer := h.raw(t, good); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Errorf("this user's request: %q", answer)
	}
}

// proves A-MCP-05
func TestRefusedBodiesAreNotWaitedFor(t *testing.T) {
	h := open(t, nil)
	for status, text := range map[int]string{
		403: strings.Replace(head, "127.0.0.1:PORT", "evil.example", 1) + "Content-Length: 1000\r\n\r\n",
		405: strings.Replace(head, "POST", "GET", 1) + "Content-Length: 1000\r\n\r\n",
		413: head + "Content-Length: 99999999999\r\n\r\n",
		415: strings.Replace(head, "application/json", "text/plain", 1) + "Transfer-Encoding: chunked\r\n\r\n",
		404: strings.Replace(head, "/mcp", "/", 1) + "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n",
	} {
		c := h.dial(t)
		io.WriteString(c, strings.ReplaceAll(text, "PORT", fmt.Sprint(h.port())))
		r := bufio.NewReader(c)
		if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != status {
			t.Errorf("%d: %v, %v", status, resp, err)
		}
	}
	answer := h.raw(t, head+"Expect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	if !strings.HasPrefix(answer, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ") {
		t.Errorf("the control: %q", answer)
	}
}

// A client that sends its head, its body or its next request too slowly, or does not read, loses its connection; every place
// is free again afterwards.
//
// proves A-MCP-05
func TestSlowClientsLoseTheirConnection(t *testing.T) {
	short := times{header: 50 * time.Millisecond, body: 50 * time.Millisecond, answer: 50 * time.Millisecond, idle: 50 * time.Millisecond}
	for name, c := range map[string]struct{ text, want string }{
		"nothing":         {"", ""},
		"half a line":     {"POST /mc", ""},
		"half a head":     {head + "X: ", ""},
		"half a body":     {head + "Content-Length: 10\r\n\r\n{", "HTTP/1.1 408 "},
		"half a chunk":    {head + "Transfer-Encoding: chunked\r\n\r\na\r\n{", "HTTP/1.1 408 "},
		"no next request": {head + "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 200 "},
	} {
		h := open(t, func(c *Config) { c.times = short })
		var all []net.Conn
		for range MaxConnections { // every place
			conn := h.dial(t)
			conn.Write([]byte(strings.ReplaceAll(c.text, "PORT", fmt.Sprint(h.port()))))
			all = append(all, conn)
		}
		for i, conn := range all { // each ends, or the test's own deadline does
			if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), c.want) {
				t.Errorf("%s, connection %d: %q, %v; want %q", name, i, answer, err, c.want)
			}
		}
		for { // the server sees the end of the last one a little later
			if answer := h.raw(t, good); strings.HasPrefix(answer, "HTTP/1.1 200 ") {
				break
			}
		}
	}
}

// proves A-MCP-05
func TestAnswersThatAreNotReadEndTheConnection(t *testing.T) {
	h := open(t, func(c *Config) {
		c.times = times{header: 50 * time.Millisecond, body: 50 * time.Millisecond, answer: 50 * time.Millisecond, idle: time.Minute}
		c.Answer = large{}
	})
	c := h.dial(t)
	io.WriteString(c, strings.ReplaceAll(good, "PORT", fmt.Sprint(h.port())))
	for len(h.recorded()) == 0 { // recorded when the answer was given up
		time.Sleep(time.Millisecond)
	}
	if r := h.recorded()[0]; r.Out >= largeAnswer {
		t.Errorf("recorded %+v", r)
	}
}

const largeAnswer = 64 << 20

type large struct{}

func (large) Answer(w http.ResponseWriter, _ *http.Request, _ []byte) Routing {
	part := make([]byte, 1<<20)
	for range largeAnswer / len(part) {
		if _, err := w.Write(part); err != nil {
			break
		}
	}
	return Routing{}
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

// The bodies of all requests together have a limit. What is only announced does not count.
//
// proves A-MCP-05
func TestBodiesInFlightAreBounded(t *testing.T) {
	h := open(t, nil)
	h.hold, h.entered = make(chan struct{}), make(chan struct{}, 10)
	release := sync.OnceFunc(func() { close(h.hold) })
	defer release()
	var clients sync.WaitGroup
	defer clients.Wait()
	defer release()
	for range 30 { // announced and never sent: no memory
		io.WriteString(h.dial(t), strings.ReplaceAll(head+"Content-Length: 41943040\r\n\r\n{", "PORT", fmt.Sprint(h.port())))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url := fmt.Sprintf("http://127.0.0.1:%d/mcp", h.port())
	for range 3 { // 120 MiB
		clients.Go(func() {
			resp, err := client.Post(url, "application/json", bytes.NewReader(make([]byte, MaxBody)))
			if err != nil || resp.StatusCode != 200 {
				t.Errorf("%v, %v", resp, err)
				return
			}
			resp.Body.Close()
		})
		<-h.entered
	}
	resp, err := client.Post(url, "application/json", bytes.NewReader(make([]byte, 16<<20)))
	if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one more large body: %v, %v; want 503", resp, err)
	} else {
		resp.Body.Close()
	}
	clients.Go(func() { // a small one still fits
		if answer := h.raw(t, good); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
			t.Errorf("a small body: %q", answer)
		}
	})
	<-h.entered
}

// proves A-MCP-05
func TestTheLongestIdleConnectionMakesRoom(t *testing.T) {
	h := open(t, nil)
	keep := head + "Content-Length: 2\r\n\r\n{}"
	var conns []net.Conn
	for range MaxConnections {
		c := h.dial(t)
		io.WriteString(c, strings.ReplaceAll(keep, "PORT", fmt.Sprint(h.port())))
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v, %v", resp, err)
		}
		conns = append(conns, c)
	}
	for h.idle() < MaxConnections { // the server notes it just after its answer
		time.Sleep(time.Millisecond)
	}
	if answer := h.raw(t, good); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Errorf("one more connection: %q", answer)
	}
	served := 0
	for _, c := range conns {
		io.WriteString(c, strings.ReplaceAll(good, "PORT", fmt.Sprint(h.port())))
		text, _ := io.ReadAll(c)
		served += bytes.Count(text, []byte("200 OK"))
	}
	if served != MaxConnections-1 {
		t.Errorf("%d of the older connections were served again, want all but one", served)
	}
}

func (h *house) idle() int {
	h.listener.mu.Lock()
	defer h.listener.mu.Unlock()
	n := 0
	for _, since := range h.listener.live {
		if !since.IsZero() {
			n++
		}
	}
	return n
}

// proves A-MCP-05
func TestAFullHouseIsToldSo(t *testing.T) {
	h := open(t, nil)
	h.hold, h.entered = make(chan struct{}), make(chan struct{}, MaxConnections)
	defer close(h.hold)
	for range MaxConnections {
		io.WriteString(h.dial(t), strings.ReplaceAll(good, "PORT", fmt.Sprint(h.port())))
		<-h.entered
	}
	if answer := h.raw(t, good); !strings.HasPrefix(answer, "HTTP/1.1 503 ") || !strings.Contains(answer, "\r\nRetry-After: ") {
		t.Errorf("one more connection: %q", answer)
	}
	if n := h.count(); n != MaxConnections {
		t.Errorf("%d requests are inside", n)
	}
}

// A client that goes away cancels nothing, and a stop waits for the answer.
//
// proves A-MCP-05, A-STOP-01
func TestRequestsAreFinishedWhenTheClientOrTheServerGoes(t *testing.T) {
	h := open(t, nil)
	h.hold, h.entered = make(chan struct{}), make(chan struct{}, 2)
	gone := h.dial(t)
	io.WriteString(gone, strings.ReplaceAll(good, "PORT", fmt.Sprint(h.port())))
	<-h.entered
	gone.Close()
	stays := h.dial(t)
	io.WriteString(stays, strings.ReplaceAll(good, "PORT", fmt.Sprint(h.port())))
	<-h.entered
	stopped := make(chan error, 1)
	go func() { stopped <- h.Shutdown(context.Background()) }()
	for { // the port is closed first
		c, err := net.Dial("tcp", h.listener.Addr().String())
		if err != nil {
			break
		}
		c.Close()
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-stopped:
		t.Errorf("the stop did not wait: %v", err)
	default:
	}
	close(h.hold)
	if answer, err := io.ReadAll(stays); err != nil || !strings.Contains(string(answer), "took 2, context <nil>") {
		t.Errorf("%q, %v", answer, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	for _, err := range h.ended {
		if err != nil {
			t.Errorf("a request's context: %v", err)
		}
	}
	for _, r := range h.recorded() {
		if r.Status != 200 || r.Method != "ping" || r.In != 2 || r.Endpoint != Path || r.Verb != "POST" {
			t.Errorf("recorded %+v", r)
		}
	}
	if n := len(h.recorded()); n != 2 {
		t.Errorf("%d records", n)
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
