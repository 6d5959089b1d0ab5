import { test } from "node:test";
import assert from "node:assert/strict";
import { signal } from "@preact/signals";
import type { Card, CardState, Connection, Item, Profile, ThreadHead, ThreadSummary } from "../src/contract";
import { chooseNext, next, sendDraft } from "../src/composer/send";
import { rows } from "../src/feed/rows";
import { fold } from "../src/link/fold";
import type { Link, OpenThread, Phase, State } from "../src/link/types";
import type { Renderer } from "../src/markdown/types";
import { end, ending } from "../src/shell/end";
import { plainText } from "../src/shell/plain";
import { nothing, stakeOf } from "../src/shell/stake";
import { statusOf } from "../src/shell/status";
import { peekText, setText } from "../src/state/drafts";
import { usePage } from "../src/state/page";
import { attempt, ofConnection, trouble, troubles } from "../src/state/trouble";
import { en } from "../src/text/en";

const connection = (o: Partial<Connection> = {}): Connection => ({ state: "connected", generation: 1, profile: "p", transport: "local", host: "h", preview: false, ...o });
const summary = (id: string, type = "idle"): ThreadSummary => ({ id, shownTitle: "", shownCwd: "", status: { type }, createdAt: 0, updatedAt: 0 });
const head = (id: string, o: Partial<ThreadHead> = {}): ThreadHead => ({ thread: summary(id), mode: "joined", older: false, ...o });
const open = (...heads: ThreadHead[]): State["open"] => new Map(heads.map((h): [string, OpenThread] => [h.thread.id, { head: h, first: 0, total: 0, items: [] }]));
const card = (id: string, state: CardState, o: Partial<Card> = {}): Card => ({ id, order: 1, kind: "command", state, shownThread: "", place: { profile: "p", host: "h" }, thread: "t", atMs: 0, ...o });
const profile = (name: string, o: Partial<Profile> = {}): Profile => ({ name, transport: "remote", host: "h", enabled: true, selected: false, ...o });
const state = (o: Partial<State> = {}): State => ({
  instance: "i", relay: "", codex: "", connection: connection(), owner: { epoch: 1, profile: "p", account: "a", root: "/r" }, profiles: [], threads: [], moreThreads: false, open: new Map(), cards: [],
  drafts: new Map(), models: [], outcomes: [], notices: [], syncFailed: new Map(), ...o,
});

/** A page whose worker answers what the test says; kind → answer. */
function page(answer: (kind: string) => object = () => ({ status: "done", value: {} }), s = state()) {
  const calls: [string, unknown][] = [];
  const held = signal<State | undefined>(s);
  const link: Link = {
    phase: signal<Phase>({ name: "live" }), state: held,
    command: async (kind, params) => {
      calls.push([kind, params]);
      return { version: 1, operation: "", ...answer(kind) } as never;
    },
    before: () => Promise.reject(new Error("not asked")), submitKey: async () => false, wanted: signal<string | undefined>(undefined), first: Promise.resolve(), operation: () => "", close: () => undefined,
  };
  usePage(link, {} as Renderer);
  Object.assign(globalThis, { history: { state: null, replaceState: () => undefined } });
  return { calls, held, of: (kind: string) => calls.filter(([k]) => k === kind).map(([, p]) => p) };
}

const settle = () => new Promise((r) => setImmediate(r));

// proves R-CONN-05
test("a local server takes every running turn with it, a remote one only the view of those that were joined", () => {
  const busy = { threads: [summary("a", "active"), summary("b"), summary("v", "active")], open: open(head("c", { turnStatus: "running" }), head("v", { mode: "viewing", turnStatus: "running" }), head("d", { turnStatus: "completed" }), head("e", { turnStatus: "running", stale: true })) };
  assert.deepEqual(stakeOf(state(busy)), { turns: 3, requests: 0 }, "a thread that is listed and open counts once");
  assert.deepEqual(stakeOf(state({ ...busy, connection: connection({ transport: "remote" }) })), { turns: 1, requests: 0 });
});

test("requests are lost as long as they can be answered, and nothing is lost without a connection", () => {
  const all: CardState[] = ["pending", "answering", "answered", "outcome_unknown", "resolved", "closed", "expired", "generation_ended", "refused"];
  const cards = all.map((s, i) => card(String(i), s));
  assert.deepEqual(stakeOf(state({ cards })), { turns: 0, requests: 2 });
  for (const s of ["offline", "connecting", "reconnecting", "waitingForManualReconnect"] as const) assert.ok(nothing(stakeOf(state({ cards, threads: [summary("a", "active")], connection: connection({ state: s }) }))), s);
  assert.ok(nothing(stakeOf(state({ threads: [summary("a")] }))));
});

test("what loses something waits to be confirmed, the rest is done at once", async () => {
  for (const e of [{ kind: "reconnect" }, { kind: "disconnect" }, { kind: "connect", profile: "q", enable: true }] as const) {
    const idle = page();
    end(e);
    await settle();
    assert.equal(ending.value, undefined);
    const { kind, ...params } = e;
    assert.deepEqual(idle.calls, [[kind, params]]);
    const busy = page(undefined, state({ cards: [card("1", "pending")] }));
    end(e);
    await settle();
    assert.deepEqual([ending.value, busy.calls], [e, []]);
    ending.value = undefined;
  }
});

test("whatever was not done is kept with its reason until it is asked for again", async () => {
  const problem = { code: "relay.command", variant: "stopping", text: "x" };
  for (const status of ["refused", "failed", "unknown"] as const) {
    page(() => ({ status, problem }));
    assert.equal(await attempt(ofConnection, "disconnect", {}), false);
    assert.deepEqual(troubles.value.get(ofConnection), { status, problem });
  }
  page();
  assert.equal(await attempt(ofConnection, "disconnect", {}), true);
  assert.equal(troubles.value.has(ofConnection), false);
});

test("the choice for a new thread goes with it, whether its first message is taken or not", async () => {
  for (const taken of [true, false]) {
    const w = page((kind) => (kind === "thread.start" ? { status: "done", value: { thread: "new" } } : kind === "turn.send" && !taken ? { status: "failed", problem: { code: "call.rejected", text: "no" } } : { status: "done", value: {} }));
    next.value = new Map();
    chooseNext("", { model: "m", effort: "high" });
    setText("", "hello");
    await sendDraft("");
    assert.deepEqual(w.of("thread.start"), [{ model: "m" }], "a thread begins with a model and has no effort");
    assert.deepEqual(w.of("turn.send"), [{ thread: "new", text: "hello", model: "m", effort: "high" }]);
    assert.deepEqual(next.value.get(""), {}, "the next new thread begins with the server's own");
    assert.deepEqual([next.value.get("new"), peekText("new")], taken ? [{}, ""] : [{ model: "m", effort: "high" }, "hello"]);
    trouble("new", undefined);
    setText("new", "");
  }
});

test("what is chosen while a message is on its way is for the turn after it", async () => {
  page((kind) => {
    if (kind === "turn.send") chooseNext("t", { model: "later" });
    return { status: "done", value: {} };
  });
  chooseNext("t", { model: "m" });
  setText("t", "hello");
  await sendDraft("t");
  assert.deepEqual(next.value.get("t"), { model: "later" });
});

// proves R-CONN-11
test("a profile that is not enabled was not stopped by anybody, and neither was one that never ran", () => {
  const offline = connection({ state: "offline", transport: "remote" });
  const word = (c: Connection, ...p: Profile[]) => { const s = statusOf(en, { name: "live" }, c, undefined, p); return [s.word, s.fact]; };
  assert.deepEqual(word(offline, profile("p", { enabled: false, selected: true })), [en.connDisabled, en.connDisabledFact]);
  assert.deepEqual(word(offline, profile("p"), profile("q", { enabled: false })), [en.connOffline, en.connOfflineFact]);
  assert.deepEqual(word({ ...offline, generation: 0 }, profile("p")), [en.connOffline, ""]);
});

test("a connection tells which profile is chosen, and an attempt that it is enabled; nothing else changes", () => {
  const profiles = [profile("p", { selected: true }), profile("q", { enabled: false })];
  const s = state({ profiles });
  const after = (c: Connection) => fold(s, { kind: "connection", body: c }, [])?.profiles ?? [];
  assert.equal(after(connection()), profiles);
  assert.deepEqual(after(connection({ profile: "q", state: "connecting", generation: 2 })), [profile("p"), profile("q", { selected: true })]);
  assert.deepEqual(after(connection({ profile: "q", state: "offline", generation: 2 })), [profile("p"), profile("q", { selected: true, enabled: false })]);
});

test("the plain page has every row of the transcript", () => {
  const item = (id: string, o: Partial<Item>): Item => ({ id, turn: "u", type: "agentMessage", status: "done", ...o });
  const list = rows({
    head: head("t", { turn: "u", turnStatus: "failed", shownTurnError: "no more", plan: [{ shown: "one", status: "completed" }, { shown: "two", status: "inProgress" }, { shown: "three", status: "pending" }] }),
    items: [
      item("1", { type: "userMessage", text: { text: "hello" } }),
      item("2", { text: { text: "half", left: 5 }, status: "abandoned" }),
      item("3", { type: "commandExecution", status: "declined", command: { shown: "ls", shownCwd: "/r" } }),
      item("5", { type: "newKind", malformed: true }),
    ],
    cards: [card("1.1", "answered", { item: "3", turn: "u" }), card("1.2", "pending", { turn: "u" })],
    outcomes: [{ operation: "o2", kind: "turn.send", thread: "t", state: "outcomeUnknown", text: "gone", atMs: 0 }],
    notices: [{ id: 1, kind: "error", thread: "t", shown: "try again", atMs: 0 }, { id: 2, kind: "error", thread: "t", shown: "try again", atMs: 0 }],
  });
  assert.deepEqual(new Set(list.map((r) => r.kind)), new Set(["item", "plan", "turnError", "outcome", "card", "notice"]), "all kinds of rows are here");
  assert.equal(plainText(en, list), [
    "You\nhello", "Codex\nhalf\n[shortened]\n(cut off)", "$ ls\n(declined)\nRun this command? (Answered from this worker)", "An item that does not have its shape: newKind",
    "Plan (1 of 3 done)\nDone: one\nIn progress: two\nTo do: three", "The turn failed\n“no more”", "Run this command? (waiting for you)", "The server reports an error (× 2)\n“try again”", "You (Outcome unknown)\ngone",
  ].join("\n\n"));
});
