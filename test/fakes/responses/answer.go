package responses

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// object is an event or a part of one.
type object map[string]any

// answer is one stream of events.
type answer struct {
	server *Server
	w      http.ResponseWriter
	gone   <-chan struct{} // the client has left
	n      int             // number of the request, part of every id
	err    error           // the client stopped reading
}

func (a *answer) id(kind string) string { return fmt.Sprintf("%s_%d", kind, a.n) }

// send writes one event at once.
func (a *answer) send(kind string, fields object) {
	if a.err != nil {
		return
	}
	fields["type"] = kind
	data, err := json.Marshal(fields)
	if err != nil {
		a.err = err
		return
	}
	if _, a.err = io.WriteString(a.w, "event: "+kind+"\ndata: "+string(data)+"\n\n"); a.err == nil {
		a.err = http.NewResponseController(a.w).Flush()
	}
}

func (a *answer) created() {
	a.send("response.created", object{"response": object{"id": a.id("resp"), "object": "response", "status": "in_progress"}})
}

func (a *answer) completed() {
	a.send("response.completed", object{"response": object{"id": a.id("resp"), "object": "response", "status": "completed", "output": []any{},
		"usage": object{"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 5,
			"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 15}}})
}

// item sends the start and the end of an item; steps sends what lies between.
func (a *answer) item(start, end object, steps func()) {
	a.send("response.output_item.added", object{"output_index": 0, "item": start})
	steps()
	a.send("response.output_item.done", object{"output_index": 0, "item": end})
}

// play acts out one scenario.
func (a *answer) play(name, rest string, outputs int) {
	first, after, _ := strings.Cut(rest, " ")
	switch name {
	case "text":
		a.message(words(rest))
		return
	case "flood":
		a.message(flood(number(first, 1), number(after, 4)))
		return
	case "slow":
		a.message(a.slow(number(first, 1), time.Duration(number(after, 100))*time.Millisecond))
		return
	case "clock":
		a.message(a.clock(number(first, 1), time.Duration(number(after, 100))*time.Millisecond))
		return
	case "gate":
		a.message(a.gated(first, after))
		return
	case "reason":
		a.reason()
		a.message(words("after reasoning"))
		return
	case "hang":
		a.wait(nil)
		return
	}
	if outputs > 0 {
		a.message(words(fmt.Sprintf("tool done (%d)", outputs)))
		return
	}
	switch name {
	case "call":
		a.call("", first, after)
	case "nscall":
		tool, args, _ := strings.Cut(after, " ")
		a.call(first, tool, args)
	case "plan":
		a.call("", "update_plan", `{"explanation":"two steps","plan":[{"step":"look","status":"in_progress"},{"step":"act","status":"pending"}]}`)
	case "custom":
		a.custom(first, after)
	default:
		a.message(words("unknown scenario " + name))
	}
}

// message answers a text in pieces.
func (a *answer) message(pieces iter.Seq[string]) {
	a.says(pieces)
	a.completed()
}

// says sends a text in pieces, after which more may follow.
func (a *answer) says(pieces iter.Seq[string]) {
	id := a.id("msg")
	var all strings.Builder
	a.send("response.output_item.added", object{"output_index": 0, "item": object{"id": id, "type": "message", "role": "assistant", "status": "in_progress", "content": []any{}}})
	a.send("response.content_part.added", object{"item_id": id, "output_index": 0, "content_index": 0, "part": object{"type": "output_text", "text": ""}})
	for piece := range pieces {
		all.WriteString(piece)
		a.send("response.output_text.delta", object{"item_id": id, "output_index": 0, "content_index": 0, "delta": piece})
		if a.err != nil {
			return
		}
	}
	a.send("response.output_text.done", object{"item_id": id, "output_index": 0, "content_index": 0, "text": all.String()})
	a.send("response.output_item.done", object{"output_index": 0, "item": object{"id": id, "type": "message", "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": all.String(), "annotations": []any{}}}}})
}

func (a *answer) reason() {
	id := a.id("rs")
	summary := []any{object{"type": "summary_text", "text": "thinking..."}}
	a.item(object{"id": id, "type": "reasoning", "summary": []any{}}, object{"id": id, "type": "reasoning", "summary": summary}, func() {
		a.send("response.reasoning_summary_part.added", object{"item_id": id, "output_index": 0, "summary_index": 0, "part": object{"type": "summary_text", "text": ""}})
		a.send("response.reasoning_summary_text.delta", object{"item_id": id, "output_index": 0, "summary_index": 0, "delta": "thinking..."})
	})
}

func (a *answer) call(namespace, name, args string) {
	made := func(status, args string) object {
		o := object{"id": a.id("fc"), "type": "function_call", "name": name, "arguments": args, "call_id": a.id("call"), "status": status}
		if namespace != "" {
			o["namespace"] = namespace
		}
		return o
	}
	a.item(made("in_progress", ""), made("completed", args), func() {
		a.send("response.function_call_arguments.delta", object{"item_id": a.id("fc"), "output_index": 0, "delta": args})
	})
	a.completed()
}

func (a *answer) custom(name, text string) {
	made := func(status, text string) object {
		return object{"id": a.id("ctc"), "type": "custom_tool_call", "name": name, "input": text, "call_id": a.id("call"), "status": status}
	}
	a.item(made("in_progress", ""), made("completed", text), func() {})
	a.completed()
}

// wait returns false when the client or the server went away first; a nil channel never opens.
func (a *answer) wait(open <-chan struct{}) bool {
	select {
	case <-open:
		return true
	case <-a.gone:
	case <-a.server.over:
	}
	return false
}

// words yields the words of s, each with the space behind it.
func words(s string) iter.Seq[string] { return strings.SplitAfterSeq(s, " ") }

// flood yields n pieces of at least size bytes, each different.
func flood(n, size int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range n {
			piece := "w" + strconv.Itoa(i) + " "
			if short := size - len(piece); short > 0 {
				piece += strings.Repeat("x", short)
			}
			if !yield(piece) {
				return
			}
		}
	}
}

func (a *answer) slow(n int, pause time.Duration) iter.Seq[string] {
	return a.paced(n, pause, func(i int) string { return "s" + strconv.Itoa(i) + " " })
}

// clock yields the time at which each piece is made, in nanoseconds since 1970.
func (a *answer) clock(n int, pause time.Duration) iter.Seq[string] {
	return a.paced(n, pause, func(int) string { return strconv.FormatInt(time.Now().UnixNano(), 10) + " " })
}

func (a *answer) paced(n int, pause time.Duration, piece func(int) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		ticker := time.NewTicker(max(pause, time.Millisecond))
		defer ticker.Stop()
		for i := range n {
			if !yield(piece(i)) {
				return
			}
			select {
			case <-ticker.C:
			case <-a.gone:
				return
			case <-a.server.over:
				return
			}
		}
	}
}

// gated yields the words of s, the last one only when the gate is open.
func (a *answer) gated(gate, s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		all := strings.SplitAfter(s, " ")
		for i, word := range all {
			if i == len(all)-1 && !a.wait(a.server.gate(gate).open) || !yield(word) {
				return
			}
		}
	}
}

func number(s string, otherwise int) int {
	if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && n >= 0 {
		return n
	}
	return otherwise
}
