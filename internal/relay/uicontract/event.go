package uicontract

import (
	"encoding/json"
	"fmt"
	"reflect"

	"sekisho/internal/relay"
)

// EventKind names an event.
type EventKind string

// The events. Which types they carry is the table below.
const (
	EvSnapshot   EventKind = "snapshot"
	EvConnection EventKind = "connection"
	EvOwner      EventKind = "owner" // one is known now; one that is gone is told by a snapshot
	EvThreads    EventKind = "threads"
	EvThreadGone EventKind = "threadGone"   // it is no longer on the list, nor open
	EvClosed     EventKind = "threadClosed" // it is no longer open
	EvHead       EventKind = "head"
	EvWindow     EventKind = "window"
	EvItem       EventKind = "item"
	EvDelta      EventKind = "delta"
	EvCard       EventKind = "card"
	EvDraft      EventKind = "draft"
	EvModels     EventKind = "models"
	EvOutcome    EventKind = "outcome"
	EvNotice     EventKind = "notice"
	EvSync       EventKind = "syncFailed"
)

// Values implements Enum.
func (EventKind) Values() []string {
	var names []string
	for _, e := range eventTable {
		names = append(names, string(e.kind))
	}
	return names
}

type eventEntry struct {
	kind EventKind
	body reflect.Type
}

var eventTable = []eventEntry{
	{EvSnapshot, typ[Snapshot]()},
	{EvConnection, typ[Connection]()},
	{EvOwner, typ[Owner]()},
	{EvThreads, typ[Threads]()},
	{EvThreadGone, typ[ThreadRef]()},
	{EvClosed, typ[ThreadRef]()},
	{EvHead, typ[ThreadHead]()},
	{EvWindow, typ[ThreadView]()},
	{EvItem, typ[ItemEvent]()},
	{EvDelta, typ[Delta]()},
	{EvCard, typ[Card]()},
	{EvDraft, typ[Draft]()},
	{EvModels, typ[Models]()},
	{EvOutcome, typ[Outcome]()},
	{EvNotice, typ[Notice]()},
	{EvSync, typ[SyncFailed]()},
}

var events = func() map[EventKind]reflect.Type {
	byKind := map[EventKind]reflect.Type{}
	for _, e := range eventTable {
		byKind[e.kind] = e.body
	}
	return byKind
}()

// Batch is one message of the stream: what changed since the last one, in order. Deltas of one item are joined. A batch is
// sent at most every 16 to 33 ms.
type Batch struct {
	Version int     `json:"version"`
	Events  []Event `json:"events"`
}

// Event is one change. Body is a pointer to the type that the table lists for Kind.
type Event struct {
	Kind EventKind `json:"kind"`
	Body any       `json:"body"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Event) UnmarshalJSON(data []byte) error {
	var raw struct {
		Kind EventKind       `json:"kind"`
		Body json.RawMessage `json:"body"`
	}
	if err := Decode(data, &raw); err != nil {
		return err
	}
	t, ok := events[raw.Kind]
	if !ok {
		return fmt.Errorf("unknown event %q", raw.Kind)
	}
	body := reflect.New(t).Interface()
	if err := Decode(raw.Body, body); err != nil {
		return fmt.Errorf("event %s: %w", raw.Kind, err)
	}
	*e = Event{raw.Kind, body}
	return nil
}

// Threads replaces the thread list, or with Upsert adds and replaces the named ones only.
type Threads struct {
	Threads []ThreadSummary `json:"threads"`
	More    bool            `json:"more"`
	Upsert  bool            `json:"upsert,omitzero"`
}

// ItemEvent adds or replaces an item. It stands after the item After, or first when that is empty.
type ItemEvent struct {
	Thread relay.ThreadID `json:"thread"`
	After  string         `json:"after"`
	Item   Item           `json:"item"`
}

// Delta appends Text to one text of a running item that is shown: its own (Part 0), or one part of its reasoning. Bytes is
// how long that text is with it, before any cut: a front end that disagrees reads the item again.
type Delta struct {
	Thread relay.ThreadID `json:"thread"`
	Turn   relay.TurnID   `json:"turn"`
	Item   string         `json:"item"`
	Of     DeltaOf        `json:"of"`
	Part   int            `json:"part"`
	Text   string         `json:"text"`
	Bytes  int            `json:"bytes"`
}

// DeltaOf says which text of an item grows.
type DeltaOf string

// The texts.
const (
	OfText    DeltaOf = "text"
	OfSummary DeltaOf = "summary" // Item.Reasoning
	OfContent DeltaOf = "content" // Item.Content
)

// Values implements Enum.
func (DeltaOf) Values() []string { return []string{"text", "summary", "content"} }

// Models replaces the model list.
type Models struct {
	Models []Model `json:"models"`
}

// SyncFailed says that events were lost on the way from the server: what is shown of the thread (or of all, when empty) is
// not complete, and is being read again without changing anything (R-REC-11).
type SyncFailed struct {
	Thread  relay.ThreadID `json:"thread,omitzero"`
	Problem Problem        `json:"problem"`
}
