// Generated from internal/relay/uicontract by go generate. Do not edit.

export const contractVersion = 1;
export const contractHeader = "Relay-Contract";
export const paths = { session: "/api/session", command: "/api/command", stream: "/api/stream" } as const;
export const previewBytes = 8192;

/** Parameters and value of every command. */
export interface Commands {
  "connect": { params: Connect; value: ConnectedAs };
  "reconnect": { params: None; value: ConnectedAs };
  "disconnect": { params: None; value: None };
  "probe": { params: None; value: ProbeResult };
  "snapshot.read": { params: SnapshotRead; value: Start };
  "thread.list": { params: ThreadList; value: None };
  "thread.start": { params: ThreadStart; value: ThreadRef };
  "thread.open": { params: ThreadRef; value: ThreadRef };
  "thread.join": { params: ThreadRef; value: ThreadRef };
  "thread.close": { params: ThreadRef; value: None };
  "thread.older": { params: ThreadRef; value: OlderResult };
  "thread.sync": { params: ThreadRef; value: None };
  "window.read": { params: WindowRead; value: Window };
  "item.read": { params: ItemRef; value: Item };
  "search": { params: Search; value: SearchResult };
  "turn.send": { params: TurnSend; value: TurnSent };
  "turn.interrupt": { params: TurnRef; value: None };
  "card.answer": { params: Answer; value: Answered };
  "draft.set": { params: Draft; value: None };
  "models.read": { params: None; value: None };
}

/** Body of every event. */
export interface Events {
  "snapshot": Snapshot;
  "connection": Connection;
  "owner": Owner;
  "threads": Threads;
  "threadGone": ThreadRef;
  "threadClosed": ThreadRef;
  "head": ThreadHead;
  "window": ThreadView;
  "item": ItemEvent;
  "delta": Delta;
  "card": Card;
  "draft": Draft;
  "models": Models;
  "outcome": Outcome;
  "notice": Notice;
  "syncFailed": SyncFailed;
}

export type CommandKind = keyof Commands;
export type EventKind = keyof Events;
export type Event = { [K in EventKind]: { kind: K; body: Events[K] } }[EventKind];

export interface Command<K extends CommandKind = CommandKind> {
  version: typeof contractVersion;
  /** Epoch of the owner whose state is shown. What sends or keeps something for an owner needs it. */
  owner?: number;
  operation: string;
  kind: K;
  params: Commands[K]["params"];
}

export interface Result<K extends CommandKind = CommandKind> {
  version: typeof contractVersion;
  operation: string;
  status: Status;
  value?: Commands[K]["value"];
  problem?: Problem;
}

export interface Batch {
  version: typeof contractVersion;
  events: Event[];
}

export interface Answer {
  card: string;
  choice?: string;
  grants?: string[];
  scope?: string;
  replies?: Record<string, Reply>;
  content?: Record<string, unknown>;
  seenEnd?: boolean;
}

export interface Answered {
  sent: boolean;
}

export interface Card {
  id: string;
  order: number;
  kind: CardKind;
  state: CardState;
  shownThread: string;
  place: Place;
  turn?: string;
  item?: string;
  thread: string;
  atMs: number;
  long?: boolean;
  choices?: Choice[];
  command?: CommandView;
  file?: FileView;
  permissions?: PermissionsView;
  questions?: QuestionsView;
  form?: FormView;
  tool?: ToolView;
  refusal?: Problem;
}

export type CardKind = "command" | "file_change" | "permissions" | "question" | "form" | "mcp_tool" | "refused";

export type CardState = "pending" | "answering" | "answered" | "outcome_unknown" | "resolved" | "closed" | "expired" | "generation_ended" | "refused";

export interface ChangeView {
  path: Text;
  kind: string;
  moved?: Text;
  diff: Text;
}

export interface Choice {
  id: string;
  kind: string;
  accepts: boolean;
  changesRules?: boolean;
  rule?: Text[];
  ruleHost?: Host;
  ruleAction?: string;
}

export interface CommandItem {
  shown: string;
  shownCwd: string;
  source?: string;
  exitCode?: number;
}

export interface CommandView {
  stdin?: boolean;
  line: Text;
  argv?: Text[];
  cwd: Text;
  reason?: Text;
  environment?: Text;
  network?: NetworkView;
  extra?: PermissionsView;
}

export interface Connect {
  profile?: string;
  enable?: boolean;
}

export interface ConnectedAs {
  owner: number;
}

export interface Connection {
  state: ConnectionState;
  generation: number;
  profile: string;
  transport: Transport;
  host: string;
  preview: boolean;
  server?: Server;
  process?: Process;
  problem?: Problem;
}

export type ConnectionState = "offline" | "connecting" | "connected" | "reconnecting" | "waitingForManualReconnect";

export interface Delta {
  thread: string;
  turn: string;
  item: string;
  of: DeltaOf;
  part: number;
  text: string;
  bytes: number;
}

export type DeltaOf = "text" | "summary" | "content";

export interface Draft {
  thread: string;
  text: string;
  revision: number;
  base?: number;
}

export interface Excerpt {
  text: string;
  left?: number;
  tail?: boolean;
}

export interface FieldView {
  id: string;
  name: Text;
  title?: Text;
  description?: Text;
  kind: string;
  required?: boolean;
  options?: OptionView[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  format?: string;
  default?: unknown;
}

export interface FileItem {
  shownPath: string;
  kind: string;
  shownMove?: string;
  diff: Excerpt;
}

export interface FileView {
  known: boolean;
  changes?: ChangeView[];
  reason?: Text;
  grantRoot?: Text;
}

export interface FormView {
  server: Text;
  message: Text;
  fields: FieldView[];
}

export interface Grant {
  id: string;
  kind: string;
  access?: string;
  value?: Text;
  subpath?: Text;
  fixed?: boolean;
}

export interface Host {
  shown: string;
  unicode?: string;
}

export interface Item {
  id: string;
  turn: string;
  turnAt?: number;
  type: string;
  status: ItemStatus;
  text?: Excerpt;
  operation?: string;
  reasoning?: Excerpt[];
  content?: Excerpt[];
  command?: CommandItem;
  files?: FileItem[];
  mcp?: McpItem;
  shownNote?: string;
  malformed?: boolean;
  partial?: boolean;
  cut?: number;
}

export interface ItemEvent {
  thread: string;
  after: string;
  item: Item;
}

export interface ItemRef {
  thread: string;
  item: string;
}

export type ItemStatus = "running" | "done" | "failed" | "declined" | "abandoned";

export interface KeyExchange {
  version: number;
  key: string;
  start?: SnapshotRead;
}

export interface McpItem {
  shownServer: string;
  shownTool: string;
  arguments: Excerpt;
  result?: Excerpt;
  shownError?: string;
}

export interface Model {
  id: string;
  shownName: string;
  shownAbout: string;
  default?: boolean;
  efforts: string[];
  effort: string;
  image?: boolean;
  tiers?: string[];
}

export interface Models {
  models: Model[];
}

export interface NetworkView {
  host: Host;
  protocol: string;
}

export interface None {
}

export interface Notice {
  id: number;
  kind: NoticeKind;
  thread?: string;
  shown?: string;
  problem?: Problem;
  atMs: number;
}

export type NoticeKind = "refused" | "deprecation" | "warning" | "error" | "mcp" | "model";

export interface OlderResult {
  added: number;
  more: boolean;
}

export interface OptionView {
  id: string;
  label: Text;
  description: Text;
}

export interface Outcome {
  operation: string;
  kind: string;
  thread?: string;
  state: OutcomeState;
  rejected?: boolean;
  text?: string;
  atMs: number;
}

export type OutcomeState = "notSent" | "sent" | "confirmed" | "outcomeUnknown" | "delivered";

export interface Owner {
  epoch: number;
  profile: string;
  account: string;
  root: string;
}

export interface PermissionsView {
  cwd?: Text;
  reason?: Text;
  environment?: Text;
  grants: Grant[];
}

export interface Place {
  profile: string;
  host: string;
}

export interface Probe {
  path: string;
  status: number;
  problem?: Problem;
}

export interface ProbeResult {
  probes: Probe[];
}

export interface Problem {
  code: string;
  variant?: string;
  args?: Record<string, string>;
  text: string;
  remedy?: string;
}

export interface Process {
  pid: number;
  running: boolean;
  exit?: string;
  shownStderr?: string;
}

export interface Profile {
  name: string;
  transport: Transport;
  host: string;
  enabled: boolean;
  selected: boolean;
}

export interface QuestionView {
  id: string;
  header: Text;
  question: Text;
  options?: OptionView[];
  other?: boolean;
  freeText?: boolean;
}

export interface QuestionsView {
  blocking: boolean;
  questions: QuestionView[];
}

export interface Refusal {
  version: number;
  problem: Problem;
}

export interface Reply {
  option?: string;
  text?: string;
}

export interface Search {
  thread: string;
  text: string;
}

export interface SearchHit {
  item: string;
  position: number;
  shown: string;
}

export interface SearchResult {
  hits: SearchHit[];
  more: boolean;
}

export interface Server {
  version: string;
  pinned: boolean;
  shownUserAgent: string;
  platformFamily: string;
  platformOs: string;
}

export interface SessionGranted {
  version: number;
  session: string;
  channel: string;
  start?: unknown;
}

export interface Settings {
  shownCwd: string;
  model: string;
  provider: string;
  shownApproval: string;
  sandbox: string;
  effort?: string;
}

export interface Snapshot {
  version: number;
  instance: string;
  reason?: SnapshotReason;
  relay: string;
  codex: string;
  connection: Connection;
  owner?: Owner;
  profiles: Profile[];
  threads: ThreadSummary[];
  moreThreads: boolean;
  open: ThreadView[];
  cards: Card[];
  drafts: Draft[];
  models: Model[];
  outcomes: Outcome[];
  notices: Notice[];
}

export interface SnapshotRead {
  thread?: string;
}

export type SnapshotReason = "" | "lagged" | "owner";

export interface Start {
  id: string;
  snapshot: Snapshot;
}

export type Status = "done" | "refused" | "failed" | "unknown";

export interface Step {
  shown: string;
  status: string;
}

export interface SyncFailed {
  thread?: string;
  problem: Problem;
}

export interface Text {
  lines: string[];
  bytes: number;
}

export interface ThreadHead {
  thread: ThreadSummary;
  mode: ThreadMode;
  turn?: string;
  turnStatus?: string;
  shownTurnError?: string;
  busy?: boolean;
  waits?: boolean;
  older: boolean;
  dropped?: boolean;
  settings?: Settings;
  usage?: Usage;
  plan?: Step[];
  problem?: Problem;
  stale?: boolean;
}

export interface ThreadList {
  search?: string;
  more?: boolean;
}

export type ThreadMode = "viewing" | "joined";

export interface ThreadRef {
  thread: string;
}

export interface ThreadStart {
  cwd?: string;
  model?: string;
  approvalPolicy?: string;
  sandbox?: string;
}

export interface ThreadStatus {
  type: string;
  waitsApproval?: boolean;
  waitsInput?: boolean;
}

export interface ThreadSummary {
  id: string;
  shownTitle: string;
  shownCwd: string;
  model?: string;
  status: ThreadStatus;
  foreign?: boolean;
  ephemeral?: boolean;
  createdAt: number;
  updatedAt: number;
}

export interface ThreadView {
  head: ThreadHead;
  window: Window;
}

export interface Threads {
  threads: ThreadSummary[];
  more: boolean;
  upsert?: boolean;
}

export interface ToolView {
  server: Text;
  message: Text;
  approval: Text;
  description?: Text;
  params?: Text;
}

export type Transport = "local" | "remote";

export interface TurnRef {
  thread: string;
  turn?: string;
}

export interface TurnSend {
  thread: string;
  text: string;
  model?: string;
  effort?: string;
  tier?: string;
  personality?: string;
}

export interface TurnSent {
  thread: string;
  turn: string;
  steered: boolean;
}

export interface Usage {
  total: number;
  last: number;
  window?: number;
}

export interface Window {
  first: number;
  total: number;
  items: Item[];
}

export interface WindowRead {
  thread: string;
  before?: string;
  count: number;
}

