//go:build linux

package main

import (
	"maps"

	"sekisho/test/fakes/appserver"
)

func init() { maps.Copy(parts, actions) }

// actions are scripts for what a person does to threads, connections and turns, and for servers that refuse it.
var actions = map[string]func() appserver.Script{
	// Two models; the first message of the new thread is not taken, the ones after it are.
	"models": func() appserver.Script {
		next := appserver.Of{Thread: "t", Turn: "u2"}
		settings := appserver.Notify("thread/settings/updated", appserver.Object{"threadId": "t", "threadSettings": appserver.Object{"cwd": appserver.Dir, "approvalPolicy": "on-request",
			"approvalsReviewer": "user", "sandboxPolicy": appserver.Object{"type": "readOnly", "networkAccess": false}, "model": "deep", "modelProvider": "fake", "effort": "high", "collaborationMode": appserver.Object{"mode": "default", "settings": appserver.Object{"model": "deep"}}}})
		return appserver.Scripts(listed(), appserver.Script{appserver.Auto("model/list", appserver.Page(nil, model("quick", "Quick", true, "low", "low", "medium"), model("deep", "Deep thought", false, "medium", "medium", "high")))},
			appserver.StartThread("t"), appserver.Script{appserver.Expect("turn/start", nil), appserver.Fail("turn/start", -32603, "no capacity")},
			of.BeginTurn(), appserver.Script{settings}, of.EndTurn(), next.BeginTurn(), next.EndTurn(), hold("on"))
	},
	// A thread that waits, which another process writes.
	"taken": func() appserver.Script {
		return appserver.Scripts(watched("waitingOnApproval"), appserver.Script{appserver.Expect("thread/resume", nil), appserver.Fail("thread/resume", -32600, "thread t already has an active writer")}, interrupted())
	},
	// A thread that is at work for somebody else.
	"watched": func() appserver.Script { return appserver.Scripts(watched(), interrupted()) },
	// A thread that can be read once.
	"readonce": func() appserver.Script {
		thread := titled("t", "A thread that is read")
		return appserver.Scripts(listed(thread), appserver.Script{appserver.Auto("thread/turns/list", appserver.Page(nil)), appserver.Auto("thread/items/list", appserver.Page(nil)),
			appserver.Expect("thread/read", nil), appserver.Reply("thread/read", appserver.Object{"thread": thread}), appserver.Hold("lose"), of.StatusChanged(appserver.Status(false)),
			appserver.Expect("thread/read", nil), appserver.Fail("thread/read", -32603, "the disk is full"), appserver.Expect("thread/read", nil), appserver.Reply("thread/read", appserver.Object{"thread": thread})}, hold("on"))
	},
	// A list whose second page cannot be read.
	"listless": func() appserver.Script {
		return appserver.Scripts(appserver.Handshake(), account(), appserver.Script{appserver.Expect("thread/list", nil), appserver.Reply("thread/list", appserver.Page("more", titled("t", "The first page"))),
			appserver.Expect("thread/list", appserver.Object{"cursor": "more"}), appserver.Fail("thread/list", -32603, "the disk is full")}, hold("on"))
	},
	// A plan, and a turn that fails.
	"planned": func() appserver.Script {
		plan := appserver.Notify("turn/plan/updated", appserver.Object{"threadId": of.Thread, "turnId": of.Turn, "explanation": nil, "plan": []any{
			appserver.Object{"step": "Find the cause", "status": "completed"}, appserver.Object{"step": "Mend it", "status": "inProgress"}, appserver.Object{"step": "Prove it", "status": "pending"}}})
		turn := appserver.Turn(of.Turn, "failed")
		turn["error"] = appserver.Object{"message": "the model went away", "codexErrorInfo": nil, "additionalDetails": nil}
		return begun(of.Say("m", "First the cause."), appserver.Script{plan, appserver.Notify("turn/completed", appserver.Object{"threadId": of.Thread, "turn": turn}), of.StatusChanged(appserver.Status(false))}, more(), hold("on"))
	},
}

func model(id, name string, first bool, effort string, efforts ...string) appserver.Object {
	var list []any
	for _, e := range efforts {
		list = append(list, appserver.Object{"reasoningEffort": e, "description": e})
	}
	return appserver.Object{"id": id, "model": id, "displayName": name, "description": name, "hidden": false, "isDefault": first, "defaultReasoningEffort": effort, "supportedReasoningEfforts": list}
}

// watched is a stored thread with a turn of another client's.
func watched(flags ...string) appserver.Script {
	thread := titled("t", "A thread at work")
	thread["status"] = appserver.Status(true, flags...)
	s := appserver.Scripts(listed(thread), readable(thread, nil, appserver.Entry("u", appserver.UserMessage("q", nil, "Please look"))))
	return append(s, appserver.Auto("thread/turns/list", appserver.Page(nil, appserver.Turn("u", "inProgress"))))
}

func interrupted() appserver.Script {
	return appserver.Script{appserver.Expect("turn/interrupt", appserver.Object{"threadId": "t", "turnId": "u"}), appserver.Reply("turn/interrupt", appserver.Object{}),
		of.TurnCompleted("interrupted"), of.StatusChanged(appserver.Status(false)), appserver.Hold("on")}
}
