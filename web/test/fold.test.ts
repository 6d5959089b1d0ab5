import assert from "node:assert/strict";
import { test } from "node:test";
import type { Batch, Delta, Event, Item } from "../src/contract";
import { bytesOf, fold, fromSnapshot, limits, prepend, reread, type Reread } from "../src/link/fold";
import { take, type Place } from "../src/link/place";
import type { State } from "../src/link/types";
import { Random } from "./random";
import { card, emptySnapshot, head, Story } from "./story";

const batch = (events: Event[]): Batch => ({ version: 1, events });
const begin = (epoch: string, n = 0): Place => {
  const t = take(undefined, `${epoch}-${n}`, batch([{ kind: "snapshot", body: emptySnapshot() }]));
  assert.equal(t.result, "taken");
  return (t as { place: Place }).place;
};

/** Events cut into batches at random places. */
function split(events: Event[], r: Random): Event[][] {
  const out: Event[][] = [];
  for (let i = 0; i < events.length; ) {
    const n = 1 + r.below(6);
    out.push(events.slice(i, i + n));
    i += n;
  }
  return out;
}

// proves R-REC-11
test("any split of the same events gives the same state, with duplicates and late batches among them", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const r = new Random(seed), story = new Story(r);
    const events = Array.from({ length: 120 }, () => story.next());
    let whole: State | undefined = fromSnapshot(emptySnapshot());
    const rereads: Reread[] = [];
    for (const e of events) whole = fold(whole, e, rereads);
    assert.deepEqual(rereads, [], `seed ${seed}: nothing is missing`);

    const batches = split(events, r);
    let place = begin("aa");
    for (const [i, b] of batches.entries()) {
      // What came before may come again, from another tab, at any time.
      for (let late = r.below(3); late > 0; late--) {
        const k = r.below(i + 1);
        const was = place, t = k === 0 ? take(place, "aa-0", batch([{ kind: "head", body: head("t1", "late") }])) : take(place, `aa-${k}`, batch(batches[k - 1]!));
        assert.equal(t.result, "old", `seed ${seed}`);
        assert.equal(place, was);
      }
      if (i + 2 <= batches.length) assert.equal(take(place, `aa-${i + 2}`, batch(batches[i + 1]!)).result, "gap");
      const t = take(place, `aa-${i + 1}`, batch(b));
      assert.equal(t.result, "taken");
      place = (t as { place: Place }).place;
    }
    assert.deepEqual(place.state, whole, `seed ${seed}`);

    // A tab that joins at any point with a snapshot ends at the same texts and cards.
    for (const [id, items] of story.threads) assert.deepEqual(place.state.open.get(id)?.items, items, `seed ${seed}: ${id}`);
    assert.deepEqual(place.state.cards, story.cards.filter((c) => place.state.cards.some((o) => o.id === c.id)));
    const again = take(place, "aa-999", batch([{ kind: "snapshot", body: story.snapshot(emptySnapshot()) }])) as { place: Place };
    for (const [id, t] of again.place.state.open) assert.deepEqual(t.items, place.state.open.get(id)?.items);
  }
});

// proves R-REC-11
test("late events inside newer batches never move the display backwards", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const r = new Random(seed), story = new Story(r);
    let state: State | undefined = fromSnapshot(emptySnapshot());
    const told: Event[] = [];
    for (let i = 0; i < 100; i++) {
      const e = story.next();
      told.push(e);
      state = fold(state, e, []);
      // Deltas, items that ran, cards that waited, drafts: told a second time, they change no text and revive nothing.
      const old = r.of(told);
      if (old.kind !== "delta" && old.kind !== "card" && old.kind !== "draft" && old.kind !== "item") continue;
      if (old.kind === "item" && old.body.item.status !== "running") continue;
      const before: State = state!;
      const wants: Reread[] = [];
      const after: State = fold(before, old, wants)!;
      if (old.kind === "card" && before.cards.find((c) => c.id === old.body.id)?.state === old.body.state) continue;
      for (const [id, t] of before.open) {
        for (const item of t.items) {
          const now = after.open.get(id)!.items.find((o) => o.id === item.id);
          assert.ok(now, `seed ${seed}: an item is gone`);
          assert.ok(bytesOf(now.text) >= bytesOf(item.text), `seed ${seed}: a text got shorter`);
          if (item.status === "done") assert.equal(now, item, `seed ${seed}: a completed item changed`);
        }
      }
      for (const c of before.cards) {
        if (c.state !== "pending") assert.equal(after.cards.find((o) => o.id === c.id)?.state, c.state, `seed ${seed}: a card came back`);
      }
      for (const [id, d] of before.drafts) assert.equal(after.drafts.get(id)?.revision, d.revision);
    }
  }
});

test("a snapshot of the same worker from before, or from after, is told apart; another worker's begins anew", () => {
  const at = begin("aa", 7), snapshot = batch([{ kind: "snapshot", body: { ...emptySnapshot(), relay: "later" } }]);
  assert.equal(take(at, "aa-6", snapshot).result, "old");
  assert.equal(take(at, "aa-7", snapshot).result, "taken");
  assert.equal(take(at, "bb-1", snapshot).result, "taken");
  for (const id of ["", "7", "aa-", "aa--8", "aa-08", "zz zz-8", "aa-8\n", "bb-8"]) assert.equal(take(at, id, batch([])).result, "gap", id);
  assert.equal(take(undefined, "aa-1", batch([{ kind: "models", body: { models: [] } }])).result, "gap");
});

const running: Item = { id: "i", turn: "u", type: "agentMessage", status: "running" };
const withRunning = (item: Item = running) => fromSnapshot({ ...emptySnapshot(), open: [{ head: head("t"), window: { first: 0, total: 1, items: [item] } }] });
const delta = (text: string, bytes: number): Event => ({ kind: "delta", body: { thread: "t", turn: "u", item: "i", of: "text", part: 0, text, bytes } satisfies Delta });

test("a delta that overlaps gives its new part; one behind a hole asks for the item", () => {
  const rereads: Reread[] = [];
  let s: State | undefined = fold(withRunning(), delta("語x", 4), rereads);
  s = fold(s, delta("xyz", 6), rereads);
  assert.equal(s!.open.get("t")!.items[0]!.text!.text, "語xyz");
  assert.deepEqual(rereads, []);
  const same = fold(s, delta("!", 9), rereads);
  assert.equal(same, s);
  assert.deepEqual(rereads, [{ thread: "t", item: "i" }]);
  s = reread(s!, "t", { ...running, text: { text: "語xyz12!" } });
  assert.equal(s.open.get("t")!.items[0]!.text!.text, "語xyz12!");
  assert.equal(reread(s, "t", { ...running, text: { text: "語" } }), s, "a reading that is behind changes nothing");
});

// report 44
test("a text that streams keeps its end only, and knows how long it is", () => {
  let s: State | undefined = withRunning(), total = 0;
  for (let i = 0; i < 400; i++) {
    total += 1000 * 4;
    s = fold(s, delta("🙂".repeat(1000), total), []);
  }
  const text = s!.open.get("t")!.items[0]!.text!;
  assert.ok(text.text.length <= limits.streamed && text.tail && !/^[\udc00-\udfff]/.test(text.text));
  assert.equal(new TextEncoder().encode(text.text).length + text.left!, total);
});

test("parts of the state that did not change stay the same objects", () => {
  const s = fromSnapshot({ ...emptySnapshot(), open: ["a", "b"].map((id) => ({ head: head(id), window: { first: 0, total: 2, items: [{ ...running, id: "x" }, { ...running, id: "i" }] } })) });
  const next = fold(s, { kind: "delta", body: { thread: "b", turn: "u", item: "i", of: "text", part: 0, text: "t", bytes: 1 } }, [])!;
  assert.equal(next.open.get("a"), s.open.get("a"));
  assert.equal(next.open.get("b")!.items[0], s.open.get("b")!.items[0]);
  assert.notEqual(next.open.get("b")!.items[1], s.open.get("b")!.items[1]);
  assert.equal(next.cards, s.cards);
});

test("older items stand in front, and stay there when the window is told again", () => {
  const item = (n: number): Item => ({ ...running, id: "i" + n, status: "done" });
  let s = fromSnapshot({ ...emptySnapshot(), open: [{ head: head("t"), window: { first: 4, total: 6, items: [item(4), item(5)] } }] });
  s = prepend(s, "t", "i4", { first: 2, total: 6, items: [item(2), item(3)] });
  assert.deepEqual([s.open.get("t")!.first, s.open.get("t")!.items.map((i) => i.id)], [2, ["i2", "i3", "i4", "i5"]]);
  assert.equal(prepend(s, "t", "i4", { first: 2, total: 6, items: [item(2)] }), s, "an answer for another beginning");
  s = fold(s, { kind: "window", body: { head: head("t"), window: { first: 4, total: 7, items: [item(4), item(5), item(6)] } } }, [])!;
  assert.deepEqual([s.open.get("t")!.first, s.open.get("t")!.total, s.open.get("t")!.items.map((i) => i.id)], [2, 7, ["i2", "i3", "i4", "i5", "i6"]]);
  s = fold(s, { kind: "window", body: { head: head("t"), window: { first: 0, total: 1, items: [item(9)] } } }, [])!;
  assert.deepEqual(s.open.get("t")!.items.map((i) => i.id), ["i9"], "another window replaces it");
});

test("what is kept has an end: items, cards that ended, notices", () => {
  let s: State | undefined = withRunning();
  for (let i = 0; i < limits.items + 50; i++) s = fold(s, { kind: "item", body: { thread: "t", after: i === 0 ? "i" : "n" + (i - 1), item: { ...running, id: "n" + i } } }, []);
  const t = s!.open.get("t")!;
  assert.deepEqual([t.items.length, t.first + t.items.length === t.total, t.items.at(-1)!.id], [limits.items, true, "n" + (limits.items + 49)]);
  for (let i = 0; i < limits.settledCards + 50; i++) s = fold(s, { kind: "card", body: card("c" + i, i, i === 3 ? "pending" : "answered") }, []);
  assert.equal(s!.cards.length, limits.settledCards + 1);
  assert.ok(s!.cards.some((c) => c.id === "c3"), "a card that waits is never dropped");
  for (let i = 0; i < limits.notices + 5; i++) s = fold(s, { kind: "notice", body: { id: i + 1, kind: "warning", atMs: 0 } }, []);
  assert.equal(s!.notices.length, limits.notices);
});
