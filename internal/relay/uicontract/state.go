package uicontract

import "sekisho/internal/relay"

// Snapshot is everything that a front end shows.
type Snapshot struct {
	Version  int    `json:"version"`
	Instance string `json:"instance"`
	// Reason says why it was sent: "" for a new stream, lagged when the front end was too slow, owner when the owner changed.
	Reason     SnapshotReason  `json:"reason,omitzero"`
	Relay      string          `json:"relay"` // version of relaycodex
	Codex      string          `json:"codex"` // the codex version whose contract it is built for
	Connection Connection      `json:"connection"`
	Owner      *Owner          `json:"owner,omitzero"`
	Profiles   []Profile       `json:"profiles"`
	Threads    []ThreadSummary `json:"threads"`
	MoreThread bool            `json:"moreThreads"`
	Open       []ThreadView    `json:"open"`
	Cards      []Card          `json:"cards"`
	Drafts     []Draft         `json:"drafts"`
	Models     []Model         `json:"models"`
	Outcomes   []Outcome       `json:"outcomes"`
	Notices    []Notice        `json:"notices"`
}

// SnapshotReason says why a snapshot was sent.
type SnapshotReason string

// The reasons.
const (
	SnapshotNew    SnapshotReason = ""
	SnapshotLagged SnapshotReason = "lagged"
	SnapshotOwner  SnapshotReason = "owner"
)

// Values implements Enum.
func (SnapshotReason) Values() []string { return []string{"", "lagged", "owner"} }

// Connection is the state of the one connection. Generation counts connections; 0 is none yet.
type Connection struct {
	State      ConnectionState  `json:"state"`
	Generation relay.Generation `json:"generation"`
	Profile    string           `json:"profile"`
	Transport  Transport        `json:"transport"`
	Host       string           `json:"host"`             // "this machine", or the remote host and port
	Preview    bool             `json:"preview"`          // R-CONN-11
	Server     *Server          `json:"server,omitzero"`  // after initialize
	Process    *Process         `json:"process,omitzero"` // local only, apart from the connection (R-CONN-06)
	Problem    *Problem         `json:"problem,omitzero"` // why it is not connected
}

// ConnectionState is what a person sees (R-REC-02).
type ConnectionState string

// The states.
const (
	Offline      ConnectionState = "offline"
	Connecting   ConnectionState = "connecting"
	Connected    ConnectionState = "connected"
	Reconnecting ConnectionState = "reconnecting"
	// AwaitManual: nothing is tried until a person asks for it.
	AwaitManual ConnectionState = "waitingForManualReconnect"
)

// Values implements Enum.
func (ConnectionState) Values() []string {
	return []string{"offline", "connecting", "connected", "reconnecting", "waitingForManualReconnect"}
}

// Transport is how the server is reached.
type Transport string

// The transports.
const (
	Local  Transport = "local"
	Remote Transport = "remote"
)

// Values implements Enum.
func (Transport) Values() []string { return []string{"local", "remote"} }

// Server is what initialize told.
type Server struct {
	Version        string `json:"version"`
	Pinned         bool   `json:"pinned"` // whether relaycodex knows this version's contract
	UserAgent      string `json:"shownUserAgent"`
	PlatformFamily string `json:"platformFamily"`
	PlatformOS     string `json:"platformOs"`
}

// Process is the local server's process.
type Process struct {
	PID     int    `json:"pid"`
	Running bool   `json:"running"`
	Exit    string `json:"exit,omitzero"`
	Stderr  string `json:"shownStderr,omitzero"`
}

// Owner is whose state this is (R-PRI-05), as far as it may be shown.
type Owner struct {
	Epoch   uint64 `json:"epoch"` // goes into commands; another owner has another one, also when an earlier one comes back
	Profile string `json:"profile"`
	Account string `json:"account"` // kind of account and its name, or "none"
	Root    string `json:"root"`
}

// Profile is one way to connect.
type Profile struct {
	Name      string    `json:"name"`
	Transport Transport `json:"transport"`
	Host      string    `json:"host"`
	Enabled   bool      `json:"enabled"`
	Selected  bool      `json:"selected"`
}

// ThreadSummary is one line of the thread list.
type ThreadSummary struct {
	ID        relay.ThreadID `json:"id"`
	Title     string         `json:"shownTitle"` // name or beginning of the first message, at most 200 bytes
	Cwd       string         `json:"shownCwd"`
	Model     string         `json:"model,omitzero"`
	Status    ThreadStatus   `json:"status"`
	Foreign   bool           `json:"foreign,omitzero"` // announced itself; another client's or an agent's (R-CONN-08)
	Ephemeral bool           `json:"ephemeral,omitzero"`
	CreatedAt int64          `json:"createdAt"` // Unix seconds
	UpdatedAt int64          `json:"updatedAt"`
}

// ThreadStatus is the server's word on a thread. Active without having joined is "possibly in use" (R-REC-05).
type ThreadStatus struct {
	Type          string `json:"type"` // notLoaded, idle, systemError, active, or a later word
	WaitsApproval bool   `json:"waitsApproval,omitzero"`
	WaitsInput    bool   `json:"waitsInput,omitzero"`
}

// ThreadView is one open thread: its head and the end of its window.
type ThreadView struct {
	Head   ThreadHead `json:"head"`
	Window Window     `json:"window"`
}

// ThreadHead is what stands above an open thread.
type ThreadHead struct {
	Thread ThreadSummary `json:"thread"`
	Mode   ThreadMode    `json:"mode"`
	// Turn is the running turn, or the last one; empty when none is known.
	Turn       relay.TurnID `json:"turn,omitzero"`
	TurnStatus string       `json:"turnStatus,omitzero"`
	TurnError  string       `json:"shownTurnError,omitzero"`
	// Busy: a message may not be sent now: one is on its way.
	Busy bool `json:"busy,omitzero"`
	// Waits: the server waits for an answer and there is no card here: join to answer, or interrupt (R-REC-08).
	Waits    bool      `json:"waits,omitzero"`
	Older    bool      `json:"older"` // older pages exist on the server
	Dropped  bool      `json:"dropped,omitzero"`
	Settings *Settings `json:"settings,omitzero"`
	Usage    *Usage    `json:"usage,omitzero"`
	Plan     []Step    `json:"plan,omitzero"`
	// Problem is a synchronisation that failed, or a join that was refused; the items stay.
	Problem *Problem `json:"problem,omitzero"`
	Stale   bool     `json:"stale,omitzero"` // last known, of an ended connection
}

// ThreadMode tells viewing from taking part (R-REC-05).
type ThreadMode string

// The modes.
const (
	Viewing ThreadMode = "viewing"
	Joined  ThreadMode = "joined"
)

// Values implements Enum.
func (ThreadMode) Values() []string { return []string{"viewing", "joined"} }

// Settings are the thread's effective settings, as the server told them.
type Settings struct {
	Cwd      string `json:"shownCwd"`
	Model    string `json:"model"`
	Provider string `json:"provider"`
	Approval string `json:"shownApproval"`
	Sandbox  string `json:"sandbox"`
	Effort   string `json:"effort,omitzero"`
}

// Usage counts tokens.
type Usage struct {
	Total  int64 `json:"total"`
	Last   int64 `json:"last"`
	Window int64 `json:"window,omitzero"`
}

// Step is one step of a turn's plan.
type Step struct {
	Text   string `json:"shown"`
	Status string `json:"status"`
}

// Model is one model that can be chosen.
type Model struct {
	ID      string   `json:"id"`
	Name    string   `json:"shownName"`
	About   string   `json:"shownAbout"`
	Default bool     `json:"default,omitzero"`
	Efforts []string `json:"efforts"`
	Effort  string   `json:"effort"`
	Image   bool     `json:"image,omitzero"` // takes images
	Tiers   []string `json:"tiers,omitzero"`
}

// Outcome is what is known about one mutation (R-REC-07).
type Outcome struct {
	Operation relay.OperationID `json:"operation"`
	Kind      string            `json:"kind"` // the command that started it
	Thread    relay.ThreadID    `json:"thread,omitzero"`
	State     OutcomeState      `json:"state"`
	Rejected  bool              `json:"rejected,omitzero"` // confirmed by an error of the server
	// Text of a message whose fate is not confirmed, for copying and editing.
	Text string `json:"text,omitzero"`
	AtMs int64  `json:"atMs"`
}

// OutcomeState is a state of the ledger.
type OutcomeState string

// The states.
const (
	OutcomeNotSent   OutcomeState = "notSent"
	OutcomeSent      OutcomeState = "sent"
	OutcomeConfirmed OutcomeState = "confirmed"
	OutcomeUnknown   OutcomeState = "outcomeUnknown"
	OutcomeDelivered OutcomeState = "delivered"
)

// Values implements Enum.
func (OutcomeState) Values() []string {
	return []string{"notSent", "sent", "confirmed", "outcomeUnknown", "delivered"}
}

// Notice is something said once: a refused request with its reason, a deprecation, a warning of the server.
type Notice struct {
	ID      int64          `json:"id"`
	Kind    NoticeKind     `json:"kind"`
	Thread  relay.ThreadID `json:"thread,omitzero"`
	Shown   string         `json:"shown,omitzero"`
	Problem *Problem       `json:"problem,omitzero"`
	AtMs    int64          `json:"atMs"`
}

// NoticeKind is what a notice is about.
type NoticeKind string

// The kinds.
const (
	NoticeRefused     NoticeKind = "refused"
	NoticeDeprecation NoticeKind = "deprecation"
	NoticeWarning     NoticeKind = "warning"
	NoticeError       NoticeKind = "error"
	NoticeMcp         NoticeKind = "mcp"
	NoticeModel       NoticeKind = "model"
)

// Values implements Enum.
func (NoticeKind) Values() []string {
	return []string{"refused", "deprecation", "warning", "error", "mcp", "model"}
}
