import { grouped } from "../src/feed/notices";
import { test } from "node:test";
import assert from "node:assert/strict";
import type { Card, Item, Outcome, ThreadHead } from "../src/contract";
import { diff, parts, rows, type Source } from "../src/feed/rows";

const head = (o: Partial<ThreadHead> = {}): ThreadHead => ({ thread: { id: "t", shownTitle: "", shownCwd: "", status: { type: "idle" }, createdAt: 0, updatedAt: 0 }, mode: "joined", older: false, turn: "u2", ...o });
const item = (id: string, turn: string, o: Partial<Item> = {}): Item => ({ id, turn, type: "agentMessage", status: "done", ...o });
const card = (id: string, o: Partial<Card> = {}): Card => ({ id, order: 1, kind: "command", state: "pending", shownThread: "", place: { profile: "p", host: "local" }, thread: "t", turn: "u2", atMs: 0, ...o });
const outcome = (operation: string, o: Partial<Outcome> = {}): Outcome => ({ operation, kind: "turn.send", thread: "t", state: "outcomeUnknown", text: "x", atMs: 0, ...o });
const source = (o: Partial<Source> = {}): Source => ({ head: head(), items: [item("a", "u1"), item("b", "u1"), item("c", "u2", { operation: "o1" })], cards: [], outcomes: [], notices: [], ...o });
const ids = (s: Source) => rows(s).map((r) => r.id);

test("a turn begins where the turn of the items changes", () => {
  assert.deepEqual(rows(source()).map((r) => r.kind === "item" && !!r.turn), [true, false, true]);
});

test("a request stands at its item, one without an item at the end; those of other threads nowhere", () => {
  const r = rows(source({ cards: [card("1", { item: "b" }), card("2"), card("3", { thread: "other" }), card("4", { turn: "u1", state: "answered" })] }));
  assert.deepEqual(r.map((x) => x.id), ["a", "b", "c", "card:2"]);
  assert.equal(r[1]?.kind === "item" && r[1].cards[0]?.id, "1");
});

// proves R-REC-07
test("an uncertain message is a row until the server shows its item, which is marked then; others of the ledger are none", () => {
  assert.deepEqual(ids(source({ outcomes: [outcome("o9"), outcome("o8", { state: "notSent" }), outcome("o7", { state: "delivered" }), outcome("o6", { thread: "other" }), outcome("o5", { kind: "turn.interrupt", text: "" })] })), ["a", "b", "c", "outcome:o9"]);
  const sent = rows(source({ outcomes: [outcome("o1", { state: "sent" }), outcome("o2", { state: "sent" })] }));
  assert.deepEqual(sent.map((x) => x.id), ["a", "b", "c", "outcome:o2"]);
  assert.equal(sent[2]?.kind === "item" && sent[2].outcome?.operation, "o1");
});

test("the plan, a failed turn's error and the thread's errors end the list", () => {
  const s = source({ head: head({ plan: [{ shown: "x", status: "pending" }], turnStatus: "failed", shownTurnError: "no" }), notices: [{ id: 1, kind: "error", thread: "t", atMs: 0 }, { id: 2, kind: "warning", thread: "t", atMs: 0 }, { id: 3, kind: "error", atMs: 0 }] });
  assert.deepEqual(ids(s), ["a", "b", "c", "plan:", "error:u2", "notice:1"]);
});

test("rows that say the same are the same objects", () => {
  const s = source({ cards: [card("1", { item: "b" })], outcomes: [outcome("o9")] });
  const first = rows(s);
  const items = [...s.items.slice(0, 2), { ...(s.items[2] as Item), text: { text: "more" } }];
  const second = rows({ ...s, items }, first);
  assert.deepEqual(second.map((r, i) => r === first[i]), [true, true, false, true]);
});

test("a change is read line by line, a whole file by its kind", () => {
  assert.deepEqual(diff("update", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n--- q\n\\ No newline\n").map((l) => l.kind[0] + l.text), ["h--- a", "h+++ b", "h@@ -1 +1 @@", "dx", "iy", "cz", "d-- q", "h\\ No newline"]);
  assert.deepEqual(diff("add", "a\n-b\n").map((l) => l.kind + l.text), ["insa", "ins-b"]);
  assert.deepEqual(diff("delete", "a").map((l) => l.kind), ["del"]);
  assert.deepEqual(diff("update", ""), []);
});

test("what a tool returned is text, a note about a picture, or shown as it came", () => {
  assert.deepEqual(parts('{"type":"text","text":"a"}\n{"type":"image","data":"AAAA","mimeType":"image/svg+xml"}\n{"type":"image","data":"AA\n{"type":"x"}\nnot json'), [
    { kind: "text", text: "a" }, { kind: "image", mime: "image/svg+xml", bytes: 3 }, { kind: "image", mime: "", bytes: 0 }, { kind: "raw", text: '{"type":"x"}' }, { kind: "raw", text: "not json" },
  ]);
});

test("a flood of notices is few lines that count", () => {
  const n = (id: number, shown: string, thread = "t") => ({ id, kind: "error" as const, thread, shown, atMs: id });
  assert.deepEqual(grouped([], 5), { said: [], left: 0 });
  const same = grouped(Array.from({ length: 200 }, (_, i) => n(i, "again")), 5);
  assert.deepEqual([same.said.map((x) => [x.notice.id, x.times]), same.left], [[[199, 200]], 0]);
  const mixed = grouped([n(1, "a"), n(2, "b"), n(3, "a"), n(4, "a", "other")], 5);
  assert.deepEqual(mixed.said.map((x) => [x.notice.id, x.times]), [[2, 1], [3, 2], [4, 1]]);
  const many = grouped(Array.from({ length: 100 }, (_, i) => n(i, "text " + (i % 50))), 5);
  assert.deepEqual([many.said.map((x) => x.notice.id), many.left], [[95, 96, 97, 98, 99], 90]);
});
