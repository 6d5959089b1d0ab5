//go:build linux

package main

import (
	"fmt"
	"strings"
	"time"

	"sekisho/test/fakes/appserver"
)

// parts are the scripts of the fake server, for what the real one does not do on demand. The thread is t, the turn u.
var parts = map[string]func() appserver.Script{
	"empty": ready,
	"text":  func() appserver.Script { return begun(of.Say("m", welcome), of.EndTurn(), more()) },
	"streaming": func() appserver.Script {
		return begun(appserver.Script{of.Started(appserver.Command("c0", "inProgress", "go test ./...")), of.Completed(appserver.Command("c0", "completed", "go test ./..."))}, streamed("m", "## Looking\n\nThe first block is finished.\n\nThe second one still", 1), hold("on"), of.EndTurn())
	},
	"cards": func() appserver.Script {
		return begun(command("c1", "rm -rf build && make all"), permissions(), question(), hold("on"))
	},
	"command": func() appserver.Script { return begun(command("c1", "touch x"), hold("on")) },
	"session": func() appserver.Script {
		return begun(appserver.Script{of.Started(appserver.Command("c1", "inProgress", "make check")),
			of.CommandApproval("c1", "make check", "accept", "acceptForSession", "decline", "cancel").Labelled("c1"), appserver.Answer("c1", appserver.Object{"decision": "acceptForSession"}), of.Completed(appserver.Command("c1", "completed", "make check"))}, of.EndTurn())
	},
	"two": func() appserver.Script {
		return begun(appserver.Script{of.Started(appserver.Command("c1", "inProgress", "ls")), of.CommandApproval("c1", "ls", "accept", "cancel")}, hold("on"))
	},
	"file": func() appserver.Script {
		return begun(appserver.Script{of.Started(appserver.FileChange("f1", "inProgress")), of.FileApproval("f1")}, hold("on"))
	},
	"permissions": func() appserver.Script { return begun(permissions(), hold("on")) },
	"question":    func() appserver.Script { return begun(question(), hold("on")) },
	"form":        func() appserver.Script { return begun(appserver.Script{of.Form()}, hold("on")) },
	"tool":        func() appserver.Script { return begun(appserver.Script{of.ToolApproval("drop_table")}, hold("on")) },
	"bidi":        func() appserver.Script { return begun(command("c1", bidi), hold("on")) },
	"forged":      func() appserver.Script { return begun(command("c1", forged), hold("on")) },
	"long": func() appserver.Script {
		return begun(command("c1", "echo "+strings.Repeat("0123456789 ", 1500)+"; rm -rf ~"), hold("on"))
	},
	"late": func() appserver.Script { return begun(hold("ask"), command("c1", "touch x"), hold("on")) },
	"flood": func() appserver.Script {
		return begun(hold("go"), appserver.Script{of.Started(appserver.AgentMessage("m", ""))}, of.Flood("m", 20_000), of.EndTurn(), more())
	},
	"heavy": func() appserver.Script {
		text := strings.Repeat("[a](", 500) + strings.Repeat("*_", 500) + "\n\n" + strings.Repeat("> ", 200) + "\n\n" + strings.Repeat("![x]([", 400) + "\n\n"
		return begun(appserver.Script{of.Started(appserver.AgentMessage("m", "")), of.Completed(appserver.AgentMessage("m", strings.Repeat(text, 6<<20/len(text))))}, of.EndTurn(), more())
	},
	"hostile": func() appserver.Script { return begun(of.Say("m", hostile), of.EndTurn(), more()) },
	"waits": func() appserver.Script {
		thread := appserver.Thread("t")
		thread["status"], thread["preview"] = appserver.Status(true, "waitingOnApproval"), "A thread that waits"
		return appserver.Scripts(listed(thread), readable(thread, nil), appserver.Script{appserver.Auto("thread/turns/list", appserver.Page(nil, appserver.Turn("u", "inProgress"))), appserver.Auto("thread/resume", appserver.ThreadResult(thread)),
			appserver.Expect("turn/interrupt", appserver.Object{"threadId": "t", "turnId": "u"}), appserver.Reply("turn/interrupt", appserver.Object{}), of.StatusChanged(appserver.Status(false))})
	},
	"cut": func() appserver.Script {
		return begun(appserver.Script{of.Started(appserver.Command("c1", "inProgress", "ls")), of.CommandApproval("c1", "ls").WithID(0)}, hold("cut"), appserver.Script{appserver.Drop()})
	},
	"again": func() appserver.Script {
		thread := appserver.Thread("t")
		thread["preview"] = "hello"
		return appserver.Scripts(listed(thread), readable(thread, nil), of.ReplayedRequest(of.CommandApproval("c1", "ls"), 0), hold("on"))
	},
	"drafts": func() appserver.Script {
		one, two := titled("t1", "First thread"), titled("t2", "Second thread")
		s := appserver.Scripts(appserver.Handshake(), account(), appserver.Script{appserver.Auto("thread/list", appserver.Page(nil, one, two))})
		for id, thread := range map[string]appserver.Object{"t1": one, "t2": two} {
			for method, result := range map[string]any{"thread/read": appserver.Object{"thread": thread}, "thread/turns/list": appserver.Page(nil), "thread/resume": appserver.ThreadResult(thread),
				"thread/items/list": appserver.Page(nil, appserver.Entry("u", appserver.AgentMessage("m"+id, "Hello from "+id)))} {
				step := appserver.Auto(method, result)
				step.Params = []byte(fmt.Sprintf(`{"threadId":%q}`, id))
				s = append(s, step)
			}
		}
		return appserver.Scripts(s, hold("cut"), appserver.Script{appserver.Drop()})
	},
	"preview": func() appserver.Script {
		thread := titled("t", "")
		thread["preview"] = strings.Repeat("# **x** ", 25<<17)
		return appserver.Scripts(appserver.Handshake(), account(), appserver.Script{appserver.Auto("thread/list", appserver.Page(nil, thread))}, readable(thread, nil))
	},
	"thousand": func() appserver.Script { return history(500, "some words of an answer ", 40) },
	"large":    func() appserver.Script { return history(500, strings.Repeat("x", 63)+" ", 512) },
	"busy": func() appserver.Script {
		s := history(500, "some words of an answer ", 40)
		s = appserver.Scripts(s[:len(s)-1], of.BeginTurn(), hold("go"), appserver.Script{of.Started(appserver.AgentMessage("m", ""))})
		for range 800 { // about a thousand a second
			s = append(s, of.Delta("m", "w${n} ").Repeated(8), appserver.Delay(8*time.Millisecond))
		}
		return appserver.Scripts(s, of.EndTurn(), hold("on"))
	},
	// A change that is another one while somebody aims: twice, in the same shape.
	"swapped": func() appserver.Script {
		return begun(appserver.Script{of.Started(appserver.FileChange("f1", "inProgress")), of.FileApproval("f1")},
			hold("first"), appserver.Script{patched("f1", "hullo")}, hold("second"), appserver.Script{patched("f1", "h4cks")}, hold("on"))
	},
	// Names that are written from right to left.
	"righttoleft": func() appserver.Script {
		ask := of.CommandApproval("c1", "cp \u05d0\u05d1 \u05d2\u05d3", "accept", appserver.Object{"acceptWithExecpolicyAmendment": appserver.Object{"execpolicy_amendment": []any{"\u05d0\u05d1", "\u05d2\u05d3"}}}, "cancel")
		return begun(appserver.Script{of.Started(appserver.Command("c1", "inProgress", "cp")), ask}, hold("on"))
	},
	// As many cards as it likes, each as large as a card may be, of empty lines.
	"endless": func() appserver.Script {
		s := appserver.Script{}
		for i := range 40 {
			s = append(s, of.CommandApproval(fmt.Sprintf("c%d", i), "ls"+strings.Repeat("\n", 15_000)))
		}
		return begun(s, hold("on"))
	},
	"someone": func() appserver.Script {
		return appserver.Scripts(appserver.Handshake(), appserver.Script{appserver.Auto("account/read", appserver.Object{"account": appserver.Object{"type": "chatgpt", "email": "other@example.com", "planType": "pro"}, "requiresOpenaiAuth": true}),
			appserver.Auto("model/list", appserver.Page(nil)), appserver.Auto("thread/list", appserver.Page(nil))}, hold("on"))
	},
	"slow": func() appserver.Script {
		return appserver.Scripts(ready(), appserver.Script{appserver.Expect("thread/start", nil), appserver.Hold("start"), appserver.Reply("thread/start", appserver.ThreadResult(appserver.Thread("t"))), appserver.Notify("thread/started", appserver.Object{"thread": appserver.Thread("t")})}, of.BeginTurn(), hold("on"))
	},
	// Everything that an agent does in a turn, ended.
	"work": func() appserver.Script {
		reasoning := appserver.Object{"type": "reasoning", "id": "r", "summary": []any{"**Looking for the cause**\n\nThe test fails only when the file has no last line end."}, "content": []any{}}
		ran, failed := appserver.Command("c1", "completed", "go test ./internal/parse"), appserver.Command("c2", "completed", "make check")
		ran["aggregatedOutput"] = "ok  \texample/internal/parse\t0.412s\n"
		failed["aggregatedOutput"], failed["exitCode"] = "parse_test.go:41: got 3 lines, want 4\nFAIL\nmake: *** [Makefile:12: check] Error 1\n", 2
		change := appserver.FileChange("f1", "completed")
		change["changes"] = []any{appserver.Object{"path": appserver.Dir + "/internal/parse/lines.go", "kind": appserver.Object{"type": "update", "move_path": nil},
			"diff": "@@ -8,7 +8,9 @@ func Lines(s string) []string {\n \tvar out []string\n \tfor line := range strings.Lines(s) {\n-\t\tout = append(out, line[:len(line)-1])\n+\t\tout = append(out, strings.TrimSuffix(line, \"\\n\"))\n \t}\n+\t// A last line without its end is a line, too.\n \treturn out\n }\n"}}
		s := appserver.Script{of.Started(reasoning), of.Completed(reasoning)}
		for _, item := range []appserver.Object{ran, failed, change} {
			s = append(s, of.Started(item), of.Completed(item))
		}
		plan := appserver.Notify("turn/plan/updated", appserver.Object{"threadId": of.Thread, "turnId": of.Turn, "explanation": nil, "plan": []any{
			appserver.Object{"step": "Find why the last line is lost", "status": "completed"}, appserver.Object{"step": "Keep it", "status": "completed"}, appserver.Object{"step": "Test it with and without", "status": "inProgress"}}})
		return begun(append(s, plan), of.Say("m", "The last line is kept now, with or without its end. `make check` still fails for another reason: the table in `parse_test.go` expects **four** lines."), of.EndTurn(), more())
	},
	// A message whose answer never comes.
	"uncertain": func() appserver.Script {
		return appserver.Scripts(ready(), appserver.StartThread("t"), appserver.Script{appserver.Expect("turn/start", nil), appserver.Drop()})
	},
	// The server complains again and again.
	"complaints": func() appserver.Script {
		s := appserver.Script{}
		for i := range 60 {
			text := "stream disconnected before completion: retrying"
			if i%20 == 19 {
				text = fmt.Sprintf("the model is overloaded (attempt %d)", i)
			}
			s = append(s, appserver.Notify("error", appserver.Object{"threadId": of.Thread, "turnId": of.Turn, "willRetry": true, "error": appserver.Object{"message": text, "codexErrorInfo": nil, "additionalDetails": nil}}))
		}
		return begun(s, of.Say("m", "It works again."), of.EndTurn(), more())
	},
	"failing": func() appserver.Script {
		return begun(of.Say("m", "This will fail."), appserver.Script{of.TurnCompleted("failed"), of.StatusChanged(appserver.Status(false))}, more())
	},
}

const (
	welcome = "## What I found\n\nTwo places need a change:\n\n1. `internal/relay/web/guard.go` checks the **host**\n2. `docs/` tells of it\n\n```go\nfunc main() {\n\tprintln(\"hello\")\n}\n```\n\nSee [the manual](https://example.com/manual). ![a diagram](https://example.com/diagram.png)\n"
	// What reads right to left hides what runs first; zero width joins words that are two.
	bidi = "echo ok #\u202e mr -rf / \u2066; rm\u200b -rf ~ \u0007\u001b[2K"
	// A command that tries to look like parts of its own card.
	forged  = "true\n\nThread: Trusted thread\nHost: this machine\n[ Allow once ] recommended by relaycodex\n</code></pre><button>Allow</button><script>document.title='owned'</script>"
	hostile = "# x\n\n<script>document.title='owned'</script>\n\n<img src=https://evil.example/x onerror=\"document.title='owned'\">\n\n![p](https://evil.example/p.png) [go](javascript:document.title='owned') [ok](https://evil.example/ok) <https://evil.example/auto>\n\n" +
		"<svg onload=alert(1)><style>*{background:url(https://evil.example/s)}</style></svg>\n\n<link rel=stylesheet href=https://evil.example/c.css><base href=https://evil.example/><meta http-equiv=refresh content='0;url=https://evil.example/'><form action=https://evil.example/><iframe src=https://evil.example/f></iframe>\n"
)

var of = appserver.Of{Thread: "t", Turn: "u"}

func account() appserver.Script {
	return appserver.Script{appserver.Auto("account/read", appserver.Object{"account": nil, "requiresOpenaiAuth": false}), appserver.Auto("model/list", appserver.Page(nil))}
}

func ready() appserver.Script { return listed() }

func listed(threads ...any) appserver.Script {
	return appserver.Scripts(appserver.Handshake(), account(), appserver.Script{appserver.Auto("thread/list", appserver.Page(nil, threads...))})
}

func titled(id, name string) appserver.Object {
	t := appserver.Thread(id)
	t["preview"] = name
	return t
}

func readable(thread appserver.Object, next any, items ...any) appserver.Script {
	return appserver.Script{appserver.Auto("thread/read", appserver.Object{"thread": thread}), appserver.Auto("thread/turns/list", appserver.Page(nil)), appserver.Auto("thread/items/list", appserver.Page(next, items...))}
}

// begun is a thread with a turn, and then parts.
func begun(more ...appserver.Script) appserver.Script {
	return appserver.Scripts(ready(), appserver.StartThread("t"), of.BeginTurn(), appserver.Scripts(more...))
}

// more answers whatever a person does afterwards.
func more() appserver.Script {
	return appserver.Script{appserver.Auto("turn/interrupt", appserver.Object{})}
}

func hold(gate string) appserver.Script {
	return appserver.Script{appserver.Auto("turn/interrupt", appserver.Object{}), appserver.Hold(gate)}
}

func command(item, line string) appserver.Script {
	return appserver.Script{of.Started(appserver.Command(item, "inProgress", line)), of.CommandApproval(item, line).Labelled(item)}
}

func permissions() appserver.Script { return appserver.Script{of.Permissions("p1").Labelled("p1")} }

// patched replaces the line that a file change writes.
func patched(item, line string) appserver.Step {
	change := appserver.Object{"path": appserver.Dir + "/README.md", "kind": appserver.Object{"type": "update", "move_path": nil}, "diff": "@@ -1 +1 @@\n-hi\n+" + line + "\n"}
	return appserver.Notify("item/fileChange/patchUpdated", appserver.Object{"threadId": of.Thread, "turnId": of.Turn, "itemId": item, "changes": []any{change}})
}

func question() appserver.Script {
	return appserver.Script{of.Question("q1", false, true).Labelled("q1")}
}

// streamed is a message that goes on.
func streamed(item, text string, times int) appserver.Script {
	s := appserver.Script{of.Started(appserver.AgentMessage(item, ""))}
	for range times {
		for word := range strings.SplitAfterSeq(text, " ") {
			s = append(s, of.Delta(item, word))
		}
	}
	return s
}

// history is a stored thread of turns, two items each, the second one of words.
func history(turns int, words string, n int) appserver.Script {
	thread := titled("t", "A long thread")
	s := appserver.Scripts(listed(thread), appserver.Script{appserver.Auto("thread/read", appserver.Object{"thread": thread}), appserver.Auto("thread/turns/list", appserver.Page(nil)),
		appserver.Auto("thread/resume", appserver.ThreadResult(thread))})
	var items []any // newest first
	for i := turns - 1; i >= 0; i-- {
		turn := fmt.Sprintf("u%d", i)
		items = append(items, appserver.Entry(turn, appserver.AgentMessage(fmt.Sprintf("a%d", i), fmt.Sprintf("Answer %d: %s", i, strings.Repeat(words, n)))),
			appserver.Entry(turn, appserver.UserMessage(fmt.Sprintf("q%d", i), nil, fmt.Sprintf("Question %d", i))))
	}
	const page = 100
	for at := len(items) - len(items)%page; at >= 0; at -= page { // the latest rule counts: the first page last
		if at == len(items) {
			continue
		}
		var next any
		if at+page < len(items) {
			next = fmt.Sprintf("c%d", at+page)
		}
		step := appserver.Auto("thread/items/list", appserver.Page(next, items[at:min(at+page, len(items))]...))
		if at > 0 {
			step.Params = []byte(fmt.Sprintf(`{"cursor":"c%d"}`, at))
		}
		s = append(s, step)
	}
	// Rules with a cursor are more special than the one without: they must be looked at first.
	special := appserver.Script{}
	for _, step := range s {
		if step.Method == "thread/items/list" && step.Params != nil {
			special = append(special, step)
		}
	}
	return appserver.Scripts(s, special, hold("on"))
}
