package uicontract

import (
	"reflect"

	"sekisho/internal/relay"
)

// CommandKind names a command.
type CommandKind string

// The commands. Which types they carry is the table below.
const (
	CmdConnect    CommandKind = "connect"
	CmdReconnect  CommandKind = "reconnect"
	CmdDisconnect CommandKind = "disconnect"
	CmdProbe      CommandKind = "probe"
	CmdSnapshot   CommandKind = "snapshot.read"

	CmdThreadList  CommandKind = "thread.list"
	CmdThreadStart CommandKind = "thread.start"
	CmdThreadOpen  CommandKind = "thread.open"
	CmdThreadJoin  CommandKind = "thread.join"
	CmdThreadClose CommandKind = "thread.close"
	CmdThreadOlder CommandKind = "thread.older"
	CmdThreadSync  CommandKind = "thread.sync"
	CmdWindowRead  CommandKind = "window.read"
	CmdItemRead    CommandKind = "item.read"
	CmdSearch      CommandKind = "search"

	CmdTurnSend      CommandKind = "turn.send"
	CmdTurnInterrupt CommandKind = "turn.interrupt"
	CmdCardAnswer    CommandKind = "card.answer"
	CmdDraftSet      CommandKind = "draft.set"
	CmdModelsRead    CommandKind = "models.read"
)

// Values implements Enum.
func (CommandKind) Values() []string {
	var names []string
	for _, e := range commandTable {
		names = append(names, string(e.kind))
	}
	return names
}

type commandEntry struct {
	kind           CommandKind
	params, result reflect.Type
}

func (e commandEntry) newParams() any { return reflect.New(e.params).Interface() }

var commandTable = []commandEntry{
	{CmdConnect, typ[Connect](), typ[ConnectedAs]()},
	{CmdReconnect, typ[None](), typ[ConnectedAs]()},
	{CmdDisconnect, typ[None](), typ[None]()},
	{CmdProbe, typ[None](), typ[ProbeResult]()},
	{CmdSnapshot, typ[SnapshotRead](), typ[Start]()},
	{CmdThreadList, typ[ThreadList](), typ[None]()},
	{CmdThreadStart, typ[ThreadStart](), typ[ThreadRef]()},
	{CmdThreadOpen, typ[ThreadRef](), typ[ThreadRef]()},
	{CmdThreadJoin, typ[ThreadRef](), typ[ThreadRef]()},
	{CmdThreadClose, typ[ThreadRef](), typ[None]()},
	{CmdThreadOlder, typ[ThreadRef](), typ[OlderResult]()},
	{CmdThreadSync, typ[ThreadRef](), typ[None]()},
	{CmdWindowRead, typ[WindowRead](), typ[Window]()},
	{CmdItemRead, typ[ItemRef](), typ[Item]()},
	{CmdSearch, typ[Search](), typ[SearchResult]()},
	{CmdTurnSend, typ[TurnSend](), typ[TurnSent]()},
	{CmdTurnInterrupt, typ[TurnRef](), typ[None]()},
	{CmdCardAnswer, typ[Answer](), typ[Answered]()},
	{CmdDraftSet, typ[Draft](), typ[None]()},
	{CmdModelsRead, typ[None](), typ[None]()},
}

var commands = func() map[CommandKind]commandEntry {
	byKind := map[CommandKind]commandEntry{}
	for _, e := range commandTable {
		byKind[e.kind] = e
	}
	return byKind
}()

func typ[T any]() reflect.Type { return reflect.TypeFor[T]() }

// None is no parameters, and no value.
type None struct{}

// Connect chooses the profile; empty keeps the selected one. A remote profile needs Enable once per worker (R-CONN-11).
type Connect struct {
	Profile string `json:"profile,omitzero"`
	Enable  bool   `json:"enable,omitzero"`
}

// ConnectedAs tells the epoch of the owner of the new connection.
type ConnectedAs struct {
	Owner uint64 `json:"owner"`
}

// ProbeResult are the health answers of a remote server: diagnostics, never a promise (R-CONN-06).
type ProbeResult struct {
	Probes []Probe `json:"probes"`
}

// Probe is the answer of one health endpoint; Status 0 is none.
type Probe struct {
	Path    string   `json:"path"`
	Status  int      `json:"status"`
	Problem *Problem `json:"problem,omitzero"`
}

// SnapshotRead asks for everything that a front end shows. The named thread, if any, is opened before, when that takes a moment
// only; when it takes longer its window arrives by the stream, and when it fails the front end asks for it itself and is told why.
type SnapshotRead struct {
	Thread relay.ThreadID `json:"thread,omitzero"`
}

// Start is a snapshot with its place in the stream, which can be resumed behind ID.
type Start struct {
	ID       string   `json:"id"`
	Snapshot Snapshot `json:"snapshot"`
}

// ThreadList asks for stored threads: again from the newest, or with More the next page of the same question. The list
// itself arrives by the stream.
type ThreadList struct {
	Search string `json:"search,omitzero"`
	More   bool   `json:"more,omitzero"`
}

// ThreadStart starts a thread. Empty members keep the server's own settings. ApprovalPolicy is untrusted, on-request or
// never; Sandbox is read-only, workspace-write or danger-full-access.
type ThreadStart struct {
	Cwd            string `json:"cwd,omitzero"`
	Model          string `json:"model,omitzero"`
	ApprovalPolicy string `json:"approvalPolicy,omitzero"`
	Sandbox        string `json:"sandbox,omitzero"`
}

// ThreadRef names a thread.
type ThreadRef struct {
	Thread relay.ThreadID `json:"thread"`
}

// OlderResult tells how many items an older page brought, and whether there are more.
type OlderResult struct {
	Added int  `json:"added"`
	More  bool `json:"more"`
}

// WindowRead asks for at most Count (1 to 200) items before the item Before, or the last ones.
type WindowRead struct {
	Thread relay.ThreadID `json:"thread"`
	Before string         `json:"before,omitzero"`
	Count  int            `json:"count"`
}

// Window is a run of consecutive items. First is the position of the first one in the worker's window of Total items.
type Window struct {
	First int    `json:"first"`
	Total int    `json:"total"`
	Items []Item `json:"items"`
}

// ItemRef asks for one item with its text whole, up to 1 MiB.
type ItemRef struct {
	Thread relay.ThreadID `json:"thread"`
	Item   string         `json:"item"`
}

// Search finds text in the worker's window of one thread, without regard to case; at most 100 hits, newest first.
type Search struct {
	Thread relay.ThreadID `json:"thread"`
	Text   string         `json:"text"`
}

// SearchResult are the hits; More says that there are further ones.
type SearchResult struct {
	Hits []SearchHit `json:"hits"`
	More bool        `json:"more"`
}

// SearchHit is one item with the text around the first place.
type SearchHit struct {
	Item     string `json:"item"`
	Position int    `json:"position"`
	Shown    string `json:"shown"`
}

// TurnSend sends a message. Model and Effort apply to this turn and those after it, as the server defines; empty inherits.
type TurnSend struct {
	Thread      relay.ThreadID `json:"thread"`
	Text        string         `json:"text"`
	Model       string         `json:"model,omitzero"`
	Effort      string         `json:"effort,omitzero"`
	Tier        string         `json:"tier,omitzero"`
	Personality string         `json:"personality,omitzero"`
}

// TurnSent names the turn that the message went to; Steered says that it was already running (R-CONN-08).
type TurnSent struct {
	Thread  relay.ThreadID `json:"thread"`
	Turn    relay.TurnID   `json:"turn"`
	Steered bool           `json:"steered"`
}

// TurnRef names a turn; an empty Turn is the running one that the worker knows.
type TurnRef struct {
	Thread relay.ThreadID `json:"thread"`
	Turn   relay.TurnID   `json:"turn,omitzero"`
}

// Draft is the unsent text of one thread. Thread "" is the text for a thread that does not exist yet. A Revision that is
// not above the worker's is ignored, so that a late message of another tab does not undo newer text. Base is the last revision of
// the worker's that its writer knew: whoever has a later one sees that two tabs wrote at once, and keeps the text that lost.
type Draft struct {
	Thread   relay.ThreadID `json:"thread"`
	Text     string         `json:"text"`
	Revision int64          `json:"revision"`
	Base     int64          `json:"base,omitzero"`
}

// Answered tells whether an answer was handed over; nobody can tell when it was not (R-REC-07).
type Answered struct {
	Sent bool `json:"sent"`
}
