package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/profile"
	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

func item(t *testing.T, v any) codex.Item {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var i codex.Item
	if err := json.Unmarshal(data, &i); err != nil {
		t.Fatal(err)
	}
	return i
}

// hostile repaints a terminal, reverses the reading order, and is long.
const hostile = "\x1b[2J\u202etxt.exe\u200b\n"

// What has the name "shown" in the contract is escaped, and every text is bounded, whatever the item.
//
// proves R-PRI-01
func TestItemsAreBoundedAndEscaped(t *testing.T) {
	long := strings.Repeat(hostile, 20_000)
	items := map[string]any{
		"user":    object{"type": "userMessage", "id": "i", "content": []any{object{"type": "text", "text": long}, object{"type": "mention", "name": long, "path": long}}},
		"agent":   object{"type": "agentMessage", "id": "i", "text": long},
		"command": object{"type": "commandExecution", "id": "i", "command": long, "cwd": long, "status": "failed", "commandActions": []any{}, "source": long, "aggregatedOutput": long, "exitCode": -1},
		"files":   object{"type": "fileChange", "id": "i", "status": "declined", "changes": []any{object{"path": long, "diff": long, "kind": object{"type": "update", "move_path": long}}}},
		"mcp":     object{"type": "mcpToolCall", "id": "i", "server": long, "tool": long, "status": "inProgress", "arguments": object{"a": long}, "result": object{"content": []any{object{"a": long}}}, "error": object{"message": long}},
		"reason":  object{"type": "reasoning", "id": "i", "summary": []any{long}, "content": []any{long}},
		"search":  object{"type": "webSearch", "id": "i", "query": long},
		"image":   object{"type": "imageView", "id": "i", "path": long},
		"unknown": object{"type": "new" + hostile, "id": "i", "text": long},
		"broken":  object{"type": "agentMessage", "id": "i", "text": 1},
	}
	for name, v := range items {
		t.Run(name, func(t *testing.T) {
			out := project("u", item(t, v), uicontract.PreviewBytes)
			data, err := uicontract.Encode(out)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > 200_000 {
				t.Errorf("%d bytes are shown", len(data))
			}
			var tree any
			if err := json.Unmarshal(data, &tree); err != nil {
				t.Fatal(err)
			}
			walk(t, "", tree)
			if out.Malformed != (name == "broken") {
				t.Errorf("malformed: %v", out.Malformed)
			}
		})
	}
	if got := project("u", item(t, items["command"]), 100); got.Status != uicontract.ItemFailed || !got.Text.Tail || got.Text.Left+len(got.Text.Text) != len(long) {
		t.Errorf("the command is %+v", got)
	}
}

// walk requires that text of members called shown… has nothing left that acts.
func walk(t *testing.T, name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			walk(t, k, e)
		}
	case []any:
		for _, e := range v {
			walk(t, name, e)
		}
	case string:
		if !utf8.ValidString(v) {
			t.Errorf("%s is not UTF-8", name)
		}
		if (strings.HasPrefix(name, "shown") || name == "type" || name == "source") && strings.ContainsAny(v, "\x1b\u202e\u200b\n") {
			t.Errorf("%s is not escaped: %.80q", name, v)
		}
	}
}

func TestSummaryIsBounded(t *testing.T) {
	s := summary(codex.Thread{ID: "t", Preview: strings.Repeat(hostile, 1<<16), Cwd: strings.Repeat("/x", 1<<16), Model: hostile, Status: codex.ThreadStatus{Type: "active", ActiveFlags: []string{"waitingOnApproval", "new"}}})
	if len(s.Title) > titleBytes || len(s.Cwd) > pathBytes || strings.ContainsAny(s.Title+s.Model, "\x1b\n\u202e") || !s.Status.WaitsApproval || s.Status.WaitsInput {
		t.Errorf("%+v", s)
	}
}

// proves R-CON-04
func TestVersionOf(t *testing.T) {
	for agent, want := range map[string]string{
		"relaycodex/0.159.1 (Debian 12.0.0; x86_64) xterm (relaycodex; 0.159.1)": "0.159.1", "x/0.160.0-alpha.1 (y)": "0.160.0-alpha.1", "x/1": "1",
		"": "", "x": "", "x/\x1b[2J 1": "", "x/" + strings.Repeat("1", 100): "",
	} {
		if got := versionOf(agent); got != want {
			t.Errorf("%q: %q, want %q", agent, got, want)
		}
	}
}

func FuzzCardKey(f *testing.F) {
	f.Add("1.0")
	f.Add(`12."a\"b"`)
	f.Add("1.9007199254740993")
	f.Fuzz(func(t *testing.T, id string) {
		if k, ok := cardKey(id); ok && cardID(k) != id {
			t.Errorf("%q names %v, which is %q", id, k, cardID(k))
		}
	})
}

func TestCardKeys(t *testing.T) {
	for _, id := range []relay.RequestID{relay.IntID(0), relay.IntID(-1), relay.IntID(1<<53 + 1), relay.StringID(""), relay.StringID("a.b\"\n"), relay.StringID("0")} {
		k := relay.Key{Generation: 7, Request: id}
		if got, ok := cardKey(cardID(k)); !ok || got != k {
			t.Errorf("%v came back as %v", k, got)
		}
	}
}

// A remote profile does nothing until it is enabled explicitly, and is labelled.
//
// proves R-CONN-11, R-CONN-05
func TestRemoteIsEnabledExplicitly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, greeted())
		synctest.Wait() // the front end has its first snapshot
		b.o.Profiles = profile.Set{Selected: "far", Profiles: []profile.Profile{{Name: "far", Endpoint: "wss://far.example", LocalRoot: "/w", ServerRoot: "/w"}}}
		b.selected, b.enabled = "far", map[string]bool{}
		b.refused(b.do(uicontract.CmdConnect, &uicontract.Connect{}), "relay.command", "disabled")
		b.refused(b.do(uicontract.CmdReconnect, &uicontract.None{}), "relay.command", "disabled")
		b.refused(b.do(uicontract.CmdConnect, &uicontract.Connect{Profile: "other", Enable: true}), "relay.command", "profile")
		if n := b.server.Connections(); n != 0 {
			t.Errorf("%d connections", n)
		}
		b.must(b.do(uicontract.CmdConnect, &uicontract.Connect{Enable: true}))
		b.see(func(v *headless.View) {
			if c := v.Connection; !c.Preview || c.Transport != uicontract.Remote || c.Host != "far.example" || c.Process != nil {
				t.Errorf("%+v", c)
			}
		})
	})
}

// A failed attempt is told and not repeated.
func TestFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		n := 0
		b.o.Connector = func(context.Context, profile.Profile, *slog.Logger) (Link, error) {
			n++
			return Link{}, fmt.Errorf("canary-detail")
		}
		if r := b.do(uicontract.CmdConnect, &uicontract.Connect{}); r.Status != uicontract.Failed {
			t.Errorf("%+v", r)
		}
		b.see(func(v *headless.View) {
			if v.Connection.State != uicontract.AwaitManual || v.Connection.Problem == nil {
				t.Errorf("%+v", v.Connection)
			}
		})
		b.refused(b.do(uicontract.CmdThreadStart, &uicontract.ThreadStart{}), "relay.command", "not_connected")
		b.refused(b.do(uicontract.CmdThreadList, &uicontract.ThreadList{}), "relay.command", "not_connected")
		if n != 1 || strings.Contains(b.log.String(), "canary-detail") {
			t.Errorf("%d attempts; the log: %s", n, b.log)
		}
	})
}

// The thread list grows by pages on request, and a list that goes in a circle ends.
func TestThreadPages(t *testing.T) {
	in(t, func(t *testing.T, b *bench) {
		b.see(func(v *headless.View) {
			if len(v.Threads) != 1 || !v.MoreThread {
				t.Fatalf("%+v", v.Threads)
			}
		})
		b.must(b.do(uicontract.CmdThreadList, &uicontract.ThreadList{More: true}))
		b.see(func(v *headless.View) {
			if len(v.Threads) != 2 || v.MoreThread {
				t.Errorf("%+v, more %v", v.Threads, v.MoreThread)
			}
		})
		b.refused(b.do(uicontract.CmdThreadList, &uicontract.ThreadList{More: true}), "relay.command", "already")
		b.sent("thread/list", 2)
	}, appserver.Scripts(appserver.Script{appserver.Auto("account/read", object{"account": nil, "requiresOpenaiAuth": false}), appserver.Auto("model/list", appserver.Page(nil))},
		appserver.Handshake(), appserver.Script{
			appserver.Expect("thread/list", nil), appserver.Reply("thread/list", appserver.Page("c", appserver.Thread("a"))),
			appserver.Expect("thread/list", object{"cursor": "c"}).Labelled("second"), appserver.Reply("second", appserver.Page("c", appserver.Thread("b"))),
		}))
}

// The memory of when cards arrived is bounded, also when all arrive at once, and forgets the oldest.
func TestArrivalsAreBounded(t *testing.T) {
	p := newPartition(relay.Owner{})
	start := time.UnixMilli(1)
	for i := range 3 * maxAsked {
		p.askedAt(relay.Key{Generation: relay.Generation(i)}, start.Add(time.Duration(i/100)*time.Millisecond))
	}
	last := relay.Key{Generation: 3*maxAsked - 1}
	if got := p.askedAt(last, start.Add(time.Hour)); len(p.asked) > maxAsked || got != start.Add((3*maxAsked-1)/100*time.Millisecond).UnixMilli() {
		t.Errorf("%d arrivals are kept, the last one from %d", len(p.asked), got)
	}
}
