package appserver

import (
	"strconv"
	"strings"
)

// What the real server was seen to do (R-CONN-08 and the recorded findings), as parts of scripts. Handshake first.

// Handshake is initialize and initialized, with the notification that follows.
func Handshake() Script { return HandshakeAs("0.159.1") }

// HandshakeAs is Handshake of another version.
func HandshakeAs(version string) Script {
	return Script{
		Expect("initialize", Object{"clientInfo": Object{}}), Reply("initialize", InitializeResult(version)),
		Notify("remoteControl/status/changed", Object{"status": "disabled", "serverName": "vm", "installationId": "cfcf2652-61f8-4d00-8665-58c1195abcf8", "environmentId": nil}),
		Expect("initialized", nil),
	}
}

// StartThread answers thread/start and announces the thread.
func StartThread(thread string) Script {
	return Script{Expect("thread/start", nil), Reply("thread/start", ThreadResult(Thread(thread))), Notify("thread/started", Object{"thread": Thread(thread)})}
}

// BeginTurn takes turn/start, answers it, and starts the turn with the user's message.
func (o Of) BeginTurn() Script {
	user := UserMessage("user-"+o.Turn, "${turn/start.clientUserMessageId}", "${turn/start.input.0.text}")
	return Script{
		Expect("turn/start", Object{"threadId": o.Thread}), Reply("turn/start", Object{"turn": Turn(o.Turn, "inProgress")}),
		o.StatusChanged(Status(true)), o.TurnStarted(), o.Started(user), o.Completed(user),
	}
}

// Say is an agent message in deltas of one word, complete at the end.
func (o Of) Say(item, text string) Script {
	s := Script{o.Started(AgentMessage(item, ""))}
	for word := range strings.SplitAfterSeq(text, " ") {
		s = append(s, o.Delta(item, word))
	}
	return append(s, o.Completed(AgentMessage(item, text)))
}

// EndTurn completes the turn; the thread is idle then.
func (o Of) EndTurn() Script {
	return Script{o.TurnCompleted("completed"), o.StatusChanged(Status(false))}
}

// TextTurn is a whole turn with one message.
func (o Of) TextTurn(item, text string) Script {
	return Scripts(o.BeginTurn(), o.Say(item, text), o.EndTurn())
}

// SteeredStart answers turn/start of a busy thread with the turn that runs: it was steered.
func (o Of) SteeredStart() Script {
	return Script{Expect("turn/start", Object{"threadId": o.Thread}).Labelled("steer"), Reply("steer", Object{"turn": Turn(o.Turn, "inProgress")})}
}

// LateItem completes a command of the turn, although the turn is over; its source has changed meanwhile.
func (o Of) LateItem(item string) Script {
	late := Command(item, "completed", "sleep 90")
	late["source"] = "unifiedExecStartup"
	return Script{o.Completed(late)}
}

// InterruptedApproval asks for a command and is interrupted: the turn completes before the request is resolved, and the
// command's item never does.
func (o Of) InterruptedApproval(item string) Script {
	return Script{
		o.Started(Command(item, "inProgress", "touch x")), o.CommandApproval(item, "touch x").Labelled("approval").WithID(0), o.StatusChanged(Status(true, "waitingOnApproval")),
		Expect("turn/interrupt", Object{"threadId": o.Thread}), Reply("turn/interrupt", Object{}),
		o.TurnCompleted("interrupted"), o.Resolved(0), o.StatusChanged(Status(false)),
	}
}

// MidStream is what a client that joins late gets: deltas of an item that it never saw start, then the whole text.
func (o Of) MidStream(item, text string) Script {
	return Script{o.Delta(item, text), o.Completed(AgentMessage(item, "before "+text)), o.TurnCompleted("completed"), o.StatusChanged(Status(false))}
}

// ReplayedRequest answers thread/resume and sends the request that waits again, with its old id.
func (o Of) ReplayedRequest(ask Step, id any) Script {
	thread := Thread(o.Thread)
	thread["status"] = Status(true, "waitingOnApproval")
	return Script{
		Expect("thread/resume", Object{"threadId": o.Thread, "excludeTurns": true}), Reply("thread/resume", ThreadResult(thread)),
		Notify("thread/goal/cleared", Object{"threadId": o.Thread}), ask.WithID(id).Labelled("replayed"),
	}
}

// OtherClient announces a thread of another client and what happens in it.
func OtherClient(thread string) Script {
	o := Of{Thread: thread}
	return Script{Notify("thread/started", Object{"thread": Thread(thread)}), o.StatusChanged(Status(true)), o.StatusChanged(Status(false))}
}

// CompletedFirst answers turn/start only after the whole turn is over. It was never seen and must be survived.
func (o Of) CompletedFirst(item, text string) Script {
	return Scripts(
		Script{Expect("turn/start", Object{"threadId": o.Thread}), o.TurnStarted()}, o.Say(item, text), o.EndTurn(),
		Script{Reply("turn/start", Object{"turn": Turn(o.Turn, "inProgress")})})
}

// Twice completes the turn a second time and starts it once more, late.
func (o Of) Twice() Script { return Script{o.TurnCompleted("completed"), o.TurnStarted()} }

// Overloaded refuses a method n times as the real server does when its queue is full.
func Overloaded(method string, n int) Script {
	var s Script
	for i := range n {
		label := method + "#" + strconv.Itoa(i)
		s = append(s, Expect(method, nil).Labelled(label), Fail(label, -32001, "Server overloaded; retry later."))
	}
	return s
}

// Unknown refuses a method as the real server refuses one that it does not have: not with -32601.
func Unknown(method string) Script {
	return Script{Expect(method, nil), Fail(method, -32600, "Invalid request: unknown variant `"+method+"`, expected one of `initialize`, `thread/start`")}
}

// Refusals of the real server, all -32600: told apart by their words only.
const (
	ActiveWriter   = "thread already has an active writer"
	NotInitialized = "Not initialized"
)

// CyclicPages answers every page of a method with the same cursor.
func CyclicPages(method string) Script { return Script{Auto(method, Page("again"))} }

// Malformed sends n frames that are no valid message, of every sort, one after the other.
func Malformed(n int) Script {
	sorts := []string{`{`, `[]`, `null`, `"text"`, `{"foo":1}`, `{"method":1}`, `{"id":1.5,"result":{}}`, `{"id":999999,"result":{}}`, `{"method":"turn/started","params":7}`,
		`{"method":"item/commandExecution/requestApproval","id":[1],"params":{}}`, "\x00\xff\xfe", `{"method":"turn/started","method":"x"}`, strings.Repeat("[", 2000)}
	s := make(Script, 0, n)
	for i := range n {
		s = append(s, Garbage(sorts[i%len(sorts)]))
	}
	return s
}

// UnknownRequests are server requests with names that only resemble known ones, and the legacy ones: each must be refused
// with -32601.
func UnknownRequests() Script {
	var s Script
	for _, method := range []string{"item/fooApproval/requestApproval", "Item/CommandExecution/requestApproval", "item/commandExecution/requestApproval ",
		"applyPatchApproval", "execCommandApproval", "currentTime/read"} {
		s = append(s, Request(method, Object{"threadId": "t", "turnId": "u", "itemId": "i"}).Invalid(), Refusal(method, -32601))
	}
	return s
}

// Flood sends n deltas of an item.
func (o Of) Flood(item string, n int) Script { return Script{o.Delta(item, "w${n} ").Repeated(n)} }

// HugeAnswer answers a method with a result of about size bytes.
func HugeAnswer(method string, size int) Script {
	return Script{Expect(method, nil), Step{Do: DoReply, As: method, Result: raw(Object{"huge": strings.Repeat("x", size)}), Unchecked: true}}
}
