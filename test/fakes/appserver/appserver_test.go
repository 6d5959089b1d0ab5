package appserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/internal/fault"
	"sekisho/internal/relay/transport"
	"sekisho/test/goroutines"
)

func TestMain(m *testing.M) { goroutines.Main(m) }

func send(t *testing.T, c transport.Conn, frame string) {
	t.Helper()
	if started, err := c.Write(t.Context(), []byte(frame)); err != nil || !started {
		t.Fatalf("sending %s: started %v, %v", frame, started, err)
	}
}

// next returns the next message of the server.
func next(t *testing.T, c transport.Conn) Message {
	t.Helper()
	frame, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return parse(0, frame)
}

// greet does the client's half of Handshake.
func greet(t *testing.T, c transport.Conn) {
	t.Helper()
	send(t, c, `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"x","version":"1"}}}`)
	if m := next(t, c); m.Kind != Result || string(m.ID) != "1" {
		t.Fatalf("initialize: %v", m)
	}
	send(t, c, `{"method":"initialized"}`)
	if m := next(t, c); m.Method != "remoteControl/status/changed" {
		t.Fatalf("after initialize: %v", m)
	}
}

// everywhere runs f over each kind of connection.
func everywhere(t *testing.T, script func() Script, f func(*testing.T, *Server, transport.Conn)) {
	ca, err := NewAuthority(false)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	caFile, tokenFile := filepath.Join(dir, "ca"), filepath.Join(dir, "token")
	if err := ca.WriteFile(caFile); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tokenFile, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, connect := range map[string]func(*testing.T, *Server) (transport.Conn, error){
		"pipe": func(_ *testing.T, s *Server) (transport.Conn, error) { return s.Pipe(), nil },
		"ws": func(t *testing.T, s *Server) (transport.Conn, error) {
			return transport.Dial(t.Context(), transport.Endpoint{URL: s.StartListen(t, ListenOptions{}).URL})
		},
		"wss": func(t *testing.T, s *Server) (transport.Conn, error) {
			l := s.StartListen(t, ListenOptions{Token: "secret", TLS: ca})
			return transport.Dial(t.Context(), transport.Endpoint{URL: l.URL, CAFile: caFile, TokenFile: tokenFile})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := Start(t, script())
			conn, err := connect(t, s)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(transport.ByUser)
			f(t, s, conn)
		})
	}
}

func TestATurnOverEveryKindOfConnection(t *testing.T) {
	of := Of{"t1", "u1"}
	everywhere(t, func() Script { return Scripts(Handshake(), StartThread("t1"), of.TextTurn("m1", "one two three")) },
		func(t *testing.T, s *Server, c transport.Conn) {
			greet(t, c)
			send(t, c, `{"id":"s","method":"thread/start","params":{}}`)
			if m := next(t, c); string(m.ID) != `"s"` {
				t.Errorf("a string id came back as %s", m.ID)
			}
			next(t, c)
			send(t, c, `{"id":3,"method":"turn/start","params":{"threadId":"t1","clientUserMessageId":"c-9","input":[{"type":"text","text":"hello"}]}}`)
			var text string
			var methods []string
			for m := next(t, c); m.Method != "turn/completed"; m = next(t, c) {
				methods = append(methods, m.Method)
				var p struct {
					Delta string
					Item  struct{ Type, ClientID string }
				}
				if err := json.Unmarshal(m.Params, &p); err != nil {
					t.Fatal(err)
				}
				text += p.Delta
				if p.Item.Type == "userMessage" && p.Item.ClientID != "c-9" {
					t.Errorf("the client's id came back as %q", p.Item.ClientID)
				}
			}
			if want := "|thread/status/changed|turn/started|item/started|item/completed|item/started|item/agentMessage/delta|item/agentMessage/delta|item/agentMessage/delta|item/completed"; strings.Join(methods, "|") != want {
				t.Errorf("order %v", methods)
			}
			if text != "one two three" || len(s.Sent("turn/start")) != 1 {
				t.Errorf("text %q, %d starts", text, len(s.Sent("turn/start")))
			}
		})
}

func TestAnswersAndRequestIDs(t *testing.T) {
	of := Of{"t1", "u1"}
	everywhere(t, func() Script {
		return Script{of.CommandApproval("i1", "touch x"), Answer("item/commandExecution/requestApproval", Object{"decision": "accept"}),
			of.Form().Labelled("form"), Answer("form", Object{"action": "decline"}), of.Question("i2", true, true).Labelled("q").WithID("seven"), Refusal("q", -32601),
			Auto("thread/list", Page(nil)), Ignore("noise")}
	}, func(t *testing.T, s *Server, c transport.Conn) {
		if m := next(t, c); string(m.ID) != "0" {
			t.Errorf("the first id is %s", m.ID)
		}
		send(t, c, `{"id":0,"result":{"decision":"accept"}}`)
		if m := next(t, c); string(m.ID) != "1" {
			t.Errorf("the second id is %s", m.ID)
		}
		send(t, c, `{"id":1,"result":{"action":"decline","content":null}}`)
		if m := next(t, c); string(m.ID) != `"seven"` {
			t.Errorf("the third id is %s", m.ID)
		}
		send(t, c, `{"id":"seven","error":{"code":-32601,"message":"no"}}`)
		send(t, c, `{"method":"noise"}`)
		for i := range 3 {
			send(t, c, fmt.Sprintf(`{"id":%d,"method":"thread/list","params":{}}`, i))
			if m := next(t, c); m.Kind != Result || string(m.ID) != fmt.Sprint(i) {
				t.Errorf("automatic answer %d: %v", i, m)
			}
		}
		if got := s.Sent("thread/list"); len(got) != 3 {
			t.Errorf("noted %d", len(got))
		}
	})
}

func TestDeviationsAreReported(t *testing.T) {
	for name, test := range map[string]struct {
		script Script
		frames []string
		want   string
	}{
		"unexpected":       {Script{}, []string{`{"id":1,"method":"thread/start"}`}, "nothing expected request"},
		"left too early":   {Script{Expect("turn/start", nil)}, nil, "the client left before turn/start"},
		"wrong parameters": {Script{Expect("turn/start", Object{"threadId": "a"})}, []string{`{"id":1,"method":"turn/start","params":{"threadId":"b"}}`}, "left before turn/start"},
		"wrong answer": {Script{Of{"t", "u"}.FileApproval("i").Labelled("f"), Answer("f", Object{"decision": "accept"})}, []string{`{"id":0,"result":{"decision":"decline"}}`},
			"without"},
		"impossible message": {Script{Notify("turn/started", Object{"threadId": "t"})}, nil, "not what the real server could send"},
		"no such step":       {Script{{Do: "dance"}}, nil, `no step "dance"`},
		"unknown label":      {Script{Reply("x", nil)}, nil, `no request was taken as "x"`},
		"bad reference":      {Script{Notify("warning", Object{"message": "${x.y}"})}, nil, `nothing was taken as "x"`},
	} {
		s := New(test.script)
		p := s.Pipe()
		for _, f := range test.frames {
			p.Write(t.Context(), []byte(f))
		}
		p.Close(transport.ByUser)
		s.Wait()
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := New()
	p := s.Pipe()
	if _, err := p.Read(t.Context()); err == nil {
		t.Error("a connection without a script")
	}
	s.Wait()
	if s.Err() == nil {
		t.Error("a connection without a script is no failure")
	}
}

func TestEnds(t *testing.T) {
	for name, test := range map[string]struct {
		step Step
		code fault.Code
	}{"drop": {Drop(), fault.ConnectionLost}, "close": {Close(1011), fault.ConnectionLost}, "exit": {Exit(3), fault.ConnectionLost}} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func() Script { return Script{Garbage("last"), test.step} }, func(t *testing.T, _ *Server, c transport.Conn) {
				if frame, err := c.Read(t.Context()); err != nil || string(frame) != "last" {
					t.Errorf("before the end: %q, %v", frame, err)
				}
				if _, err := c.Read(t.Context()); fault.CodeOf(err) != test.code || transport.ClassOf(err) != transport.Transient {
					t.Errorf("the end: %v", err)
				}
				if started, err := c.Write(t.Context(), []byte("{}")); started || err == nil {
					t.Errorf("write: started %v, %v", started, err)
				}
			})
		})
	}
}

func TestGatesTieConnectionsTogether(t *testing.T) {
	s := Start(t, Script{Hold("g"), Garbage("a")}, Script{Garbage("b"), Release("g")})
	a, b := s.Pipe(), s.Pipe()
	<-s.Held("g")
	if frame, err := b.Read(t.Context()); err != nil || string(frame) != "b" {
		t.Errorf("%q, %v", frame, err)
	}
	if frame, err := a.Read(t.Context()); err != nil || string(frame) != "a" {
		t.Errorf("%q, %v", frame, err)
	}
	a.Close(transport.ByUser)
	b.Close(transport.ByUser)
}

func TestAFrozenConnectionIsNoticedByTheClient(t *testing.T) {
	s := Start(t, Script{Garbage("x"), Freeze(), Garbage("never")})
	l := s.StartListen(t, ListenOptions{})
	c, err := transport.Dial(t.Context(), transport.Endpoint{URL: l.URL, Timing: transport.Timing{Ping: 50 * time.Millisecond, Pong: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(transport.ByUser)
	if frame, err := c.Read(t.Context()); err != nil || string(frame) != "x" {
		t.Errorf("%q, %v", frame, err)
	}
	if _, err := c.Read(t.Context()); fault.As(err) == nil || fault.As(err).Variant != "silent" {
		t.Errorf("frozen: %v", err)
	}
}

func TestThePipeFitsIntoABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Start(t, Script{Delay(time.Hour), Garbage("late")})
		p := s.Pipe()
		begin := time.Now()
		if frame, err := p.Read(t.Context()); err != nil || string(frame) != "late" || time.Since(begin) != time.Hour {
			t.Errorf("%q, %v after %v", frame, err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := p.Read(ctx); transport.ClassOf(err) != transport.Cancelled {
			t.Errorf("ended context: %v", err)
		}
	})
}

func TestOnWriteStandsForATransport(t *testing.T) {
	s := Start(t, Script{})
	p := s.Pipe()
	p.OnWrite(func(frame []byte) (bool, bool, error) { return string(frame) == "bad", true, fmt.Errorf("cut") })
	if started, err := p.Write(t.Context(), []byte("bad")); !started || err == nil {
		t.Errorf("started %v, %v", started, err)
	}
	if len(s.Received()) != 0 {
		t.Error("the server got a frame that was refused")
	}
}

func TestTheListenerRefusesWhatTheRealOneRefuses(t *testing.T) {
	s := New()
	l := s.StartListen(t, ListenOptions{Token: "secret"})
	for _, h := range transport.Probe(t.Context(), transport.Endpoint{URL: l.URL}) {
		if h.Status != 200 {
			t.Errorf("%+v", h)
		}
	}
	if _, err := transport.Dial(t.Context(), transport.Endpoint{URL: l.URL}); transport.ClassOf(err) != transport.Auth {
		t.Errorf("without a token: %v", err)
	}
	ca, err := NewAuthority(true)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca")
	if err := ca.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	secure := s.StartListen(t, ListenOptions{TLS: ca})
	if _, err := transport.Dial(t.Context(), transport.Endpoint{URL: secure.URL, CAFile: file}); transport.ClassOf(err) != transport.TLS {
		t.Errorf("an outdated certificate: %v", err)
	}
}

// parts is everything that this package can say.
func parts() map[string]Script {
	of := Of{"t1", "u1"}
	return map[string]Script{
		"handshake": Handshake(), "start": StartThread("t1"), "turn": of.TextTurn("m1", "one two"), "steered": of.SteeredStart(), "late item": of.LateItem("c1"),
		"interrupted": of.InterruptedApproval("c1"), "mid-stream": of.MidStream("m1", "text"), "replayed": of.ReplayedRequest(of.CommandApproval("i", "x"), 0),
		"other client": OtherClient("t2"), "completed first": of.CompletedFirst("m1", "x"), "twice": of.Twice(), "flood": of.Flood("m1", 50),
		"overloaded": Overloaded("thread/list", 3), "unknown": Unknown("thread/list"), "pages": Scripts(CyclicPages("thread/items/list"), CyclicPages("thread/turns/list")),
		"huge": HugeAnswer("thread/read", 10), "malformed": Malformed(20), "unknown requests": UnknownRequests(),
		"history": {Auto("thread/list", Page(nil, Thread("t1"))), Auto("thread/turns/list", Page("c", Turn("u1", "failed", UserMessage("a", "b", "c")))),
			Auto("thread/items/list", Page(nil, Entry("u1", AgentMessage("m", "x")), Entry("u1", FileChange("f", "completed")))), Auto("thread/attachment/list", Object{"data": []any{}, "nextCursor": nil}),
			Auto("thread/read", Object{"thread": Thread("t1")})},
		"asks":  {of.CommandApproval("i", "x"), of.FileApproval("i"), of.Permissions("i"), of.Question("i", false, false), of.Form(), of.URL("https://example.com/"), of.ToolApproval("danger")},
		"items": {of.Started(FileChange("f", "inProgress")), of.Completed(FileChange("f", "completed")), of.Completed(Command("c", "declined", "x"))},
	}
}

func TestEveryPartIsValid(t *testing.T) {
	for name, script := range parts() {
		if err := script.Validate(Shapes); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Script{Notify("turn/started", nil)}).Validate(Shapes); err == nil {
		t.Error("a notification without its members passes")
	}
}

func TestScriptsSurviveJSON(t *testing.T) {
	script := Scripts(Handshake(), Of{"t", "u"}.TextTurn("m", "x"), Script{Request("a", nil).WithID("x").Invalid(), Delay(time.Second), Close(1001)})
	data, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	var back Script
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(data) {
		t.Errorf("%v\n%s\n%s", err, data, again)
	}
}
