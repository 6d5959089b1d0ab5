package appserver

import (
	"encoding/json"
	"slices"
	"time"
)

// Do is what a step does.
type Do string

// The steps. A label (As) names a request; without one its method does.
const (
	DoExpect  Do = "expect"  // waits for a request or notification of Method whose params contain Params
	DoAuto    Do = "auto"    // from now on answers each request of Method whose params contain Params; no Expect sees it
	DoIgnore  Do = "ignore"  // from now on takes messages of Method without an answer
	DoReply   Do = "reply"   // answers the request As with Result
	DoError   Do = "error"   // answers the request As with Error
	DoNotify  Do = "notify"  // sends the notification Method, Times times
	DoRequest Do = "request" // sends the request Method, with ID or the next one
	DoAnswer  Do = "answer"  // waits for the client's answer to our request As, containing Result or the code of Error
	DoGarbage Do = "garbage" // sends Text as a frame, whatever it is
	DoBinary  Do = "binary"  // the same as a binary frame where there are any
	DoDelay   Do = "delay"   // waits Millis
	DoHold    Do = "hold"    // waits until the gate Name is released
	DoRelease Do = "release" // releases the gate Name
	DoClose   Do = "close"   // ends the connection in order, with the WebSocket close code Code (default 1000)
	DoDrop    Do = "drop"    // ends it without a word
	DoFreeze  Do = "freeze"  // from now on nothing arrives any more in either direction, and nobody is told
	DoExit    Do = "exit"    // ends it, and as a program exits with Code
)

// Step is one step of a script; which members count depends on Do.
//
// In Params and Result of what is sent, a string "${LABEL.path.to.member}" is replaced by that member of a message that an
// Expect or Answer took under the label, and "${n}" by the number of the repetition.
type Step struct {
	Do        Do              `json:"do"`
	Method    string          `json:"method,omitzero"`
	As        string          `json:"as,omitzero"`
	ID        json.RawMessage `json:"id,omitzero"`
	Params    json.RawMessage `json:"params,omitzero"`
	Result    json.RawMessage `json:"result,omitzero"`
	Error     *Error          `json:"error,omitzero"`
	Name      string          `json:"name,omitzero"`
	Text      string          `json:"text,omitzero"`
	Millis    int             `json:"millis,omitzero"`
	Code      int             `json:"code,omitzero"`
	Times     int             `json:"times,omitzero"`
	Unchecked bool            `json:"unchecked,omitzero"`
}

// Error is the error member of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitzero"`
}

// Script is what one connection does.
type Script []Step

// Scripts joins parts, so that quirks and single steps can be mixed.
func Scripts(parts ...Script) Script { return slices.Concat(parts...) }

// Expect waits for method; params, if not nil, is what its params must at least contain.
func Expect(method string, params any) Step {
	return Step{Do: DoExpect, Method: method, Params: raw(params)}
}

// Auto answers every request of method from now on.
func Auto(method string, result any) Step {
	return Step{Do: DoAuto, Method: method, Result: raw(result)}
}

// Ignore takes messages of method from now on and says nothing.
func Ignore(method string) Step { return Step{Do: DoIgnore, Method: method} }

// Reply answers the request that was expected as label.
func Reply(label string, result any) Step {
	return Step{Do: DoReply, As: label, Result: raw(result)}
}

// Fail answers the request that was expected as label by an error.
func Fail(label string, code int, message string) Step {
	return Step{Do: DoError, As: label, Error: &Error{Code: code, Message: message}}
}

// Notify sends a notification.
func Notify(method string, params any) Step {
	return Step{Do: DoNotify, Method: method, Params: raw(params)}
}

// Request sends a server request.
func Request(method string, params any) Step {
	return Step{Do: DoRequest, Method: method, Params: raw(params)}
}

// Answer waits for the client's answer to the request label; result, if not nil, is what it must at least contain.
func Answer(label string, result any) Step {
	return Step{Do: DoAnswer, As: label, Result: raw(result)}
}

// Refusal waits for the client's error answer to the request label.
func Refusal(label string, code int) Step {
	return Step{Do: DoAnswer, As: label, Error: &Error{Code: code}}
}

// Garbage sends text as a frame.
func Garbage(text string) Step { return Step{Do: DoGarbage, Text: text} }

// Delay waits; better use Hold.
func Delay(d time.Duration) Step { return Step{Do: DoDelay, Millis: int(d.Milliseconds())} }

// Hold waits for Release of name, by a test or by another connection.
func Hold(name string) Step { return Step{Do: DoHold, Name: name} }

// Release opens the gate name.
func Release(name string) Step { return Step{Do: DoRelease, Name: name} }

// Close ends the connection in order.
func Close(code int) Step { return Step{Do: DoClose, Code: code} }

// Drop ends the connection without a word.
func Drop() Step { return Step{Do: DoDrop} }

// Freeze makes the connection half-open: it stays, and nothing gets through.
func Freeze() Step { return Step{Do: DoFreeze} }

// Exit ends the process with a status, as far as there is one.
func Exit(code int) Step { return Step{Do: DoExit, Code: code} }

// Labelled names the request of the step.
func (s Step) Labelled(label string) Step { s.As = label; return s }

// WithID gives a request of ours an id: any JSON.
func (s Step) WithID(id any) Step { s.ID = raw(id); return s }

// Repeated sends a notification n times.
func (s Step) Repeated(n int) Step { s.Times = n; return s }

// Invalid lets a deliberately wrong message pass the validator.
func (s Step) Invalid() Step { s.Unchecked = true; return s }

func (s Step) label() string {
	if s.As != "" {
		return s.As
	}
	return s.Method
}

// raw is v as JSON; a value that is no JSON is a mistake of the test.
func raw(v any) json.RawMessage {
	switch v := v.(type) {
	case nil:
		return nil
	case json.RawMessage:
		return v
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic("appserver: " + err.Error())
	}
	return data
}
