import { test } from "node:test";
import assert from "node:assert/strict";
import { signal } from "@preact/signals";
import type { Draft, Owner } from "../src/contract";
import type { Link, Phase, State } from "../src/link/types";
import type { Renderer } from "../src/markdown/types";
import { chooseNext, next } from "../src/composer/send";
import { trouble, troubles } from "../src/state/trouble";
import { chosen, choose } from "../src/dock/settled";
import { isOpen, readWhole, setOpen, whole, key } from "../src/feed/state";
import { heightOf, setHeight, spotOf } from "../src/feed/spots";
import { aside, dropAside, fold, peekText, sent, setText, takeBack } from "../src/state/drafts";
import { ownerIs } from "../src/state/owner";
import { current, dialog, leaving, seek, show, usePage } from "../src/state/page";

const owner = (o: Partial<Owner> = {}): Owner => ({ epoch: 1, profile: "p", account: "a", root: "/r", ...o });
const state = (o: Owner | undefined, drafts: Draft[] = []): State => ({ instance: "i", relay: "", codex: "", connection: { state: "connected", generation: 1, profile: "p", transport: "local", host: "", preview: false }, owner: o, profiles: [], threads: [], moreThreads: false, open: new Map(), cards: [], drafts: new Map(drafts.map((d) => [d.thread, d])), models: [], outcomes: [], notices: [], syncFailed: new Map() });

function page() {
  const s = signal<State | undefined>(state(owner()));
  const calls: { kind: string; params: unknown; owner: number | undefined }[] = [];
  const link: Link = {
    phase: signal<Phase>({ name: "live" }), state: s,
    command: async (kind, params, opts) => {
      calls.push({ kind, params, owner: opts?.owner });
      return { version: 1, operation: "", status: "done", value: kind === "item.read" ? { id: "i", turn: "u", type: "agentMessage", status: "done" } : {} } as never;
    },
    before: () => Promise.reject(new Error("not asked")), submitKey: async () => false, wanted: signal<string | undefined>(undefined), first: Promise.resolve(), operation: () => "", close: () => undefined,
  };
  usePage(link, {} as Renderer);
  Object.assign(globalThis, { history: { state: null, replaceState: () => undefined } });
  return { s, link, calls };
}

// Everything that the page itself keeps about an owner's threads.
//
// proves R-PRI-05
test("another owner finds nothing of the earlier one on the page; the same owner, connected anew, finds all of it", async () => {
  page();
  const fill = async () => {
    await show("t1");
    setOpen("x", true);
    await readWhole("t1", "i");
    choose("1.1", "Run once");
    trouble("t1", { status: "failed" });
    chooseNext("t1", { model: "m" });
    seek.value = { thread: "t1", item: "i" };
    leaving.value = "https://example.test/";
    dialog.value = "plain";
    setHeight("row", 10);
    spotOf("t1").stuck = false;
  };
  const left = () => [current.value, isOpen("x", false), whole.value.has(key("t1", "i")), chosen.value.size, troubles.value.size, next.value.size, seek.value !== undefined, leaving.value !== undefined, dialog.value, heightOf("row") !== undefined, !spotOf("t1").stuck];
  ownerIs("one");
  await fill();
  ownerIs("one");
  assert.deepEqual(left(), ["t1", true, true, 1, 1, 1, true, true, "plain", true, true]);
  ownerIs("two");
  assert.deepEqual(left(), ["", false, false, 0, 0, 0, false, false, "", false, false]);
});

// proves R-PRI-05
test("a draft belongs to its owner: kept for the same one, set aside for another, never given to another's worker", async () => {
  const { s, calls } = page();
  fold(state(owner()));
  setText("t1", "mine");
  setText("t2", "  ");
  await new Promise((r) => setTimeout(r, 300));
  assert.deepEqual(calls.filter((c) => c.kind === "draft.set").map((c) => [(c.params as Draft).text, c.owner]), [["mine", 1], ["  ", 1]]);
  // The same owner with a worker that has nothing: it is told again, with its epoch.
  calls.length = 0;
  s.value = state(owner({ epoch: 7 }));
  fold(s.value);
  await new Promise((r) => setTimeout(r, 50));
  assert.equal(peekText("t1"), "mine");
  assert.deepEqual(calls.map((c) => [(c.params as Draft).text, c.owner]), [["mine", 7], ["  ", 7]]);
  // Another one.
  calls.length = 0;
  s.value = state(owner({ epoch: 8, account: "b" }));
  fold(s.value);
  await new Promise((r) => setTimeout(r, 50));
  assert.equal(peekText("t1"), "");
  assert.deepEqual(aside.value.map((a) => a.text), ["mine"]);
  assert.deepEqual(calls, []);
  dropAside(aside.value[0]?.id ?? 0);
  assert.equal(aside.value.length, 0);
});

test("the worker's draft wins only when it is newer, and sending empties the box only if nothing was added", () => {
  const { s } = page();
  s.value = state(owner({ account: "c" }));
  fold(s.value);
  setText("t", "typed here");
  fold(state(owner({ account: "c" }), [{ thread: "t", text: "older", revision: 5 }]));
  assert.equal(peekText("t"), "typed here");
  fold(state(owner({ account: "c" }), [{ thread: "t", text: "of another tab", revision: Date.now() + 1e6 }]));
  assert.equal(peekText("t"), "of another tab");
  setText("t", "more");
  sent("t", "of another tab");
  assert.equal(peekText("t"), "more");
  sent("t", "more");
  assert.equal(peekText("t"), "");
});

// part of R-REC-03
test("what is written or sent while drafts are on their way to the worker stays as it is", async () => {
  const { s, link } = page();
  s.value = state(owner({ account: "busy" }));
  fold(s.value);
  const told: string[] = [];
  link.command = async (_kind, params) => {
    const d = params as Draft;
    told.push(`${d.thread} ${d.text}`);
    if (told.length === 1) {
      setText("b", "");
      setText("c", "third, and more");
    }
    await new Promise((r) => setTimeout(r, 5));
    return { version: 1, operation: "", status: "done", value: {} } as never;
  };
  setText("a", "first");
  setText("b", "second");
  setText("c", "third");
  for (let i = 0; i < 1000 && told.at(-1) !== "c third, and more"; i++) await new Promise((r) => setTimeout(r, 10));
  assert.deepEqual(["a", "b", "c"].map(peekText), ["first", "", "third, and more"]);
  assert.deepEqual([told.includes("b second"), told.includes("c third"), told.at(-1)], [false, false, "c third, and more"]);
});

// part of R-REC-03
test("a tab alone never takes its own words for another's, however late they come back", async () => {
  const { s, link } = page();
  s.value = state(owner({ account: "alone" }));
  fold(s.value);
  const told: Draft[] = [], ends: (() => void)[] = [];
  link.command = async (_kind, params) => {
    told.push(params as Draft);
    await new Promise<void>((r) => ends.push(r));
    return { version: 1, operation: "", status: "done", value: {} } as never;
  };
  const before = aside.value.length, wait = (ms: number) => new Promise((r) => setTimeout(r, ms));
  for (let i = 0; i < 6; i++) {
    setText("t", "word ".repeat(i + 1));
    await wait(300);
  }
  sent("t", peekText("t"));
  await wait(300);
  assert.equal(told.length, 1, "one telling at a time");
  for (let round = 0; round < 4; round++) {
    for (const d of told) fold(state(owner({ account: "alone" }), [d])); // late and again
    ends.splice(0).forEach((f) => f());
    await wait(50);
  }
  assert.deepEqual([peekText("t"), aside.value.length, told.map((d) => d.text)], ["", before, ["word ", ""]]);
  assert.equal(told[1]?.base, told[0]?.revision);
});

// What one tab writes on top of another's is one text; what they write at once is two, and both are kept.
//
// part of R-REC-03
test("two tabs in one draft: the later text stands, the other one is set aside and can be taken back", () => {
  const { s } = page();
  let now = Date.now() + 2e6;
  const at = (thread: string, text: string, revision: number, base: number) => fold(state(owner({ account: "tabs" }), [{ thread, text, revision, base }]));
  s.value = state(owner({ account: "tabs" }));
  fold(s.value);
  const left = () => aside.value.filter((a) => a.why === "tabs").map((a) => a.text);
  at("g", "one", now, 0);
  at("g", "one two", now + 1, now);
  at("g", "three", now + 2, now + 1); // it was known, and deleted on purpose
  assert.deepEqual([peekText("g"), left()], ["three", []]);
  // Typed here, and later elsewhere without knowing it.
  setText("a", "mine");
  at("a", "theirs", (now += 10), 0);
  assert.deepEqual([peekText("a"), left()], ["theirs", ["mine"]]);
  at("a", "theirs", now, 0);
  assert.deepEqual(left(), ["mine"], "once");
  const kept = aside.value.find((a) => a.text === "mine")!;
  takeBack(kept);
  assert.deepEqual([peekText("a"), left()], ["theirs\n\nmine", []]);
  // Typed elsewhere before, and unknown here.
  at("b", "start", now, 0);
  setText("b", "start and mine");
  at("b", "start and theirs", now + 0.5, now);
  assert.deepEqual([peekText("b"), left()], ["start and mine", ["start and theirs"]]);
  at("b", "start and theirs", now + 0.5, now);
  assert.equal(left().length, 1, "once");
  dropAside(aside.value.at(-1)!.id);
  // The same moment.
  at("c", "x", now, 0);
  setText("c", "yes");
  at("c", "no", Math.max(Date.now(), now + 1), now);
  assert.ok(peekText("c") === "no" && left().includes("yes"));
  // What stands in the winner is not lost, so nothing is said.
  setText("d", "begun");
  at("d", "begun and gone on", (now += 10), 0);
  assert.ok(!left().includes("begun"));
  // Another owner gets nothing of it into a box.
  const before = aside.value.length;
  fold(state(owner({ account: "other" })));
  assert.ok(before > 0 && aside.value.every((a) => a.why === "owner"));
  takeBack(aside.value[0]!);
  assert.equal(peekText(aside.value[0]!.thread), "");
  for (const a of aside.value) dropAside(a.id);
});

// proves R-PRI-05
test("a text waits when another owner has come before it was handed over", async () => {
  const { s, calls } = page();
  s.value = state(owner({ account: "d" }));
  fold(s.value);
  setText("t", "of d");
  s.value = state(owner({ account: "e", epoch: 9 }));
  await new Promise((r) => setTimeout(r, 300));
  assert.deepEqual(calls.filter((c) => c.kind === "draft.set"), []);
});
