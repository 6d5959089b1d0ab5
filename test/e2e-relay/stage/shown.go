//go:build linux

package main

import (
	"fmt"
	"maps"
	"strings"

	"sekisho/test/fakes/appserver"
)

// What the page must show as it is: who asks, what would run word by word, names that look like others, and each kind of item.
func init() {
	maps.Copy(parts, map[string]func() appserver.Script{
		// A thread whose name and whose command speak as a card does.
		"impostor": func() appserver.Script {
			thread := titled("t", "a\"\nProfile: trusted\nHost: safe.example\nThread: Yours")
			return appserver.Scripts(ready(), appserver.Script{appserver.Expect("thread/start", nil), appserver.Reply("thread/start", appserver.ThreadResult(thread)), appserver.Notify("thread/started", appserver.Object{"thread": thread})},
				of.BeginTurn(), command("c1", forged), hold("on"))
		},
		// A command of words that are hard to tell apart, then one that a shell would take apart otherwise.
		"words": func() appserver.Script {
			return begun(asked("c1", `git commit -m 'two words' '' "say \"hi\"" 'first`+"\n"+`second' it\'s 'a\b'`, nil), asked("c2", "rm -rf build; ls", nil), hold("on"))
		},
		// Hosts with a Cyrillic letter that looks like a Latin one: asked about, in a rule, and in links.
		"homograph": func() appserver.Script {
			return begun(of.Say("m", "[Sign in]("+lookalike+"login) or [here](https://apple.com/login)."), asked("c1", "curl "+lookalike, appserver.Object{
				"networkApprovalContext": appserver.Object{"host": "аpple.com", "protocol": "https"},
				"availableDecisions": []any{"accept", appserver.Object{"applyNetworkPolicyAmendment": appserver.Object{
					"network_policy_amendment": appserver.Object{"host": "аpple.com", "action": "allow"}}}, "cancel"}}), hold("on"))
		},
		// A turn with an item of each kind that failed at its end, in one of two threads.
		"kinds": func() appserver.Script {
			reasoning := appserver.Object{"type": "reasoning", "id": "r", "summary": []any{"**Why** it fails"}, "content": []any{}}
			ran, failed, silent := appserver.Command("c1", "completed", "go test ./..."), appserver.Command("c2", "failed", "make check"), appserver.Command("c3", "declined", "rm -rf build")
			ran["aggregatedOutput"], failed["aggregatedOutput"], failed["exitCode"] = "ok  \texample\t0.4s\n", "FAIL: got 3, want 4\nError 2\n", 2
			change := appserver.FileChange("f1", "completed")
			change["changes"] = []any{
				appserver.Object{"path": appserver.Dir + "/a.go", "kind": appserver.Object{"type": "update", "move_path": nil}, "diff": "@@ -1,3 +1,3 @@\n kept\n-taken out\n+put in\n+and this\n"},
				appserver.Object{"path": appserver.Dir + "/new.go", "kind": appserver.Object{"type": "add"}, "diff": "whole\n"}}
			tool := func(id, status string, result, failure any) appserver.Object {
				return appserver.Object{"type": "mcpToolCall", "id": id, "server": "tracker", "tool": "find_issue", "status": status, "arguments": appserver.Object{"number": 41}, "appContext": nil, "pluginId": nil, "mcpAppResourceUri": nil,
					"result": result, "error": failure, "durationMs": 12, "readOnlyHint": true}
			}
			found := tool("t1", "completed", appserver.Object{"content": []any{appserver.Object{"type": "text", "text": "Issue 41 is open"}}, "structuredContent": nil, "_meta": nil}, nil)
			lost := tool("t2", "failed", nil, appserver.Object{"message": "tracker is not reachable"})
			s := appserver.Script{of.Started(reasoning), of.Completed(reasoning)}
			for _, item := range []appserver.Object{ran, failed, silent, change, found, lost} {
				s = append(s, of.Started(item), of.Completed(item))
			}
			step := func(text, status string) any { return appserver.Object{"step": text, "status": status} }
			s = append(s, appserver.Notify("turn/plan/updated", appserver.Object{"threadId": of.Thread, "turnId": of.Turn, "explanation": nil,
				"plan": []any{step("Find it", "completed"), step("Mend it", "inProgress"), step("Test it", "pending")}}))
			over := appserver.Turn(of.Turn, "failed")
			over["error"] = appserver.Object{"message": "the model is overloaded", "codexErrorInfo": nil, "additionalDetails": nil}
			one, two := titled("t", "The broken build"), titled("t2", "Another matter")
			named := appserver.Auto("thread/list", appserver.Page(nil, two))
			named.Params = []byte(`{"searchTerm":"MATTER"}`)
			return appserver.Scripts(listed(one, two), appserver.Script{named, appserver.Auto("thread/resume", appserver.ThreadResult(one))}, readable(one, nil), hold("joined"), of.BeginTurn(), s,
				of.Say("m", "The **fault** is in `a.go`."), appserver.Script{appserver.Notify("turn/completed", appserver.Object{"threadId": of.Thread, "turn": over}), of.StatusChanged(appserver.Status(false))}, hold("on"))
		},
		// An answer in five messages, one after the other when the test says so.
		"counted": func() appserver.Script {
			s := appserver.Scripts(ready(), hold("begin"), appserver.StartThread("t"), of.BeginTurn())
			for i := range 5 {
				var text strings.Builder
				for n := range 30 {
					fmt.Fprintf(&text, "line %d of %d. ", n, i)
				}
				s = appserver.Scripts(s, hold(fmt.Sprintf("part %d", i)), of.Say(fmt.Sprintf("m%d", i), text.String()))
			}
			return appserver.Scripts(s, of.EndTurn(), hold("on"))
		},
		// 10 MB in deltas of 1 KiB: more than the buffers between a worker and a page take, and less than a worker keeps.
		"kilobytes": func() appserver.Script {
			s := appserver.Scripts(ready(), hold("begin"), appserver.StartThread("t"), of.BeginTurn(), hold("go"))
			delta := strings.Repeat("0123456789abcde ", 64)
			for i := range 40 {
				item := fmt.Sprintf("m%d", i)
				s = append(s, of.Started(appserver.AgentMessage(item, "")), of.Delta(item, delta).Repeated(256), of.Completed(appserver.AgentMessage(item, strings.Repeat(delta, 256))))
			}
			return appserver.Scripts(s, of.Say("m", "the last word"), of.EndTurn(), hold("on"))
		},
		// A request, when everybody is there.
		"patient": func() appserver.Script {
			return appserver.Scripts(ready(), hold("begin"), appserver.StartThread("t"), of.BeginTurn(), hold("ask"), command("c1", "touch x"), hold("on"))
		},
		// A long thread in which an answer is written in four parts.
		"written": func() appserver.Script {
			s := history(500, "some words of an answer ", 40)
			s = appserver.Scripts(s[:len(s)-1], hold("joined"), of.BeginTurn(), appserver.Script{of.Started(appserver.AgentMessage("m", ""))})
			var all strings.Builder
			for part := range 4 {
				for line := range 40 {
					text := fmt.Sprintf("Line %d of part %d.\n\n", line, part)
					all.WriteString(text)
					s = append(s, of.Delta("m", text))
				}
				s = appserver.Scripts(s, hold(fmt.Sprintf("part %d", part)))
			}
			return appserver.Scripts(s, appserver.Script{of.Completed(appserver.AgentMessage("m", all.String()))}, of.EndTurn(), hold("on"))
		},
	})
}

// lookalike begins with the Cyrillic letter а.
const lookalike = "https://аpple.com/"

// asked is a request for exactly that command line, with more members.
func asked(item, line string, more appserver.Object) appserver.Script {
	params := appserver.Object{"threadId": of.Thread, "turnId": of.Turn, "itemId": item, "kind": "command", "startedAtMs": 1_796_061_954_000, "environmentId": "local", "reason": nil, "command": line, "cwd": appserver.Dir,
		"commandActions": []any{appserver.Object{"type": "unknown", "command": line}}, "availableDecisions": []any{"accept", "cancel"}}
	maps.Copy(params, more)
	return appserver.Script{of.Started(appserver.Command(item, "inProgress", line)), appserver.Request("item/commandExecution/requestApproval", params).Labelled(item)}
}
