import assert from "node:assert/strict";
import { test } from "node:test";
import type { Choice, FieldView, Text } from "../src/contract";
import { standsAbove } from "../src/dock/Ask";
import { Steady, settleMs } from "../src/dock/armed";
import { cuts, suggestion } from "../src/dock/Form";
import { Hand, scrollsBy, type At } from "../src/dock/hand";

const place = { x: 0, y: 100, width: 300, height: 200, scroll: 50, room: 400 };

/** A card that has stood still at place, up to now. */
function still(now = settleMs): Steady {
  const s = new Steady();
  assert.equal(s.look(place, now - settleMs, false), false);
  assert.equal(s.look(place, now, false), true);
  return s;
}

// proves R-INT-08
test("a card is inert until it has stood still, and again after every move", () => {
  const s = new Steady();
  assert.equal(s.look(place, 0, false), false);
  assert.equal(s.look(place, settleMs - 1, false), false);
  assert.equal(s.look(place, settleMs, false), true);
  for (const byHand of [false, true]) {
    for (const moved of [{ ...place, y: 140 }, { ...place, height: 260 }, { ...place, width: 280 }, { ...place, x: 9 }, { ...place, scroll: 60 }]) {
      const t = still();
      assert.equal(t.look(moved, settleMs + 1, byHand), false, "it moved");
      assert.equal(t.look(moved, 2 * settleMs, byHand), false, "it has just moved");
      assert.equal(t.look(moved, 2 * settleMs + 1, byHand), true);
      assert.equal(t.look(undefined, 3 * settleMs, byHand), false, "it is not to be seen");
      assert.equal(t.look(moved, 3 * settleMs + 1, byHand), false, "it has just come back");
    }
  }
  const t = still();
  t.reset();
  assert.equal(t.look(place, settleMs + 1, false), false);
});

// proves R-INT-08
test("what the person scrolls stays usable; what the page scrolls is inert", () => {
  const scrolled = { ...place, y: 60, scroll: 90 };
  assert.equal(still().look(scrolled, settleMs + 1, true), true);
  assert.equal(still().look(scrolled, settleMs + 1, false), false, "nobody scrolled, and it is elsewhere on the screen");
  // Something below went away while the person scrolled: how much of it was the person's doing cannot be told.
  assert.equal(still().look({ ...scrolled, room: 300 }, settleMs + 1, true), false);
  // What comes or goes below and moves nothing is no move, and what is scrolled afterwards is the person's again.
  const s = still();
  assert.equal(s.look({ ...place, room: 600 }, settleMs + 1, false), true);
  assert.equal(s.look({ ...scrolled, room: 600 }, settleMs + 2, true), true);
  assert.equal(s.look({ ...scrolled, room: 600 }, settleMs + 3, false), true, "it stands still where it was scrolled to");
});

// proves R-INT-08
test("many small steps are a move, also while the person scrolls", () => {
  const s = still(), t = still();
  let inert = 0;
  for (let i = 1; i <= 10; i++) if (!s.look({ ...place, y: place.y - i * 0.4, scroll: place.scroll }, settleMs + i, false)) inert++;
  assert.ok(inert > 0);
  inert = 0;
  for (let i = 1; i <= 10; i++) if (!t.look({ ...place, y: place.y - i * 10, scroll: place.scroll + i * 10.4 }, settleMs + i, true)) inert++;
  assert.ok(inert > 0);
});

// proves R-INT-08
test("what scrolls is the person's while it follows the hand, and no longer", () => {
  const h = new Hand();
  assert.equal(h.scrolls(0), false);
  h.scrolled(0);
  assert.equal(h.foreign, 1, "nobody did anything");
  h.push(1000);
  h.scrolled(1100);
  h.scrolled(1240);
  assert.equal(h.scrolls(1300), true, "it goes on smoothly");
  assert.equal(h.scrolls(1500), false, "it had come to its end");
  h.scrolled(1500);
  assert.equal(h.foreign, 2);
  h.push(2000);
  for (let t = 2000; t <= 4000; t += 50) h.scrolled(t);
  assert.ok(h.foreign > 2, "no push scrolls for ever");
  assert.equal(h.scrolls(4001), false);
});

// proves R-INT-08
test("a finger scrolls by moving, and what it leaves rolling stops when it comes back", () => {
  const h = new Hand();
  h.touch();
  h.roll(10);
  assert.equal(h.scrolls(11), false, "a tap scrolls nothing");
  h.touch();
  h.push(100);
  h.roll(200);
  for (let t = 216; t < 2000; t += 100) h.scrolled(t);
  assert.deepEqual([h.foreign, h.scrolls(2000)], [0, true]);
  h.touch();
  assert.equal(h.scrolls(2001), false);
  h.push(3000);
  h.roll(3600);
  assert.equal(h.scrolls(3601), false, "it had rested before it left");
  h.push(4000);
  h.roll(4010);
  for (let t = 4016; t < 9000; t += 100) h.scrolled(t);
  assert.ok(h.foreign > 0, "nothing rolls for ever");
});

// proves R-INT-08
test("a scrollbar scrolls while it is held", () => {
  const h = new Hand();
  h.drag(true, 0);
  h.scrolled(5000);
  assert.deepEqual([h.foreign, h.scrolls(9000)], [0, true]);
  h.drag(false, 9000);
  assert.equal(h.scrolls(9100), true, "its last step may come later");
  assert.equal(h.scrolls(9200), false);
  h.drag(false, 10_000); // a pointer that moves without a button
  assert.equal(h.scrolls(10_001), false);
});

// proves R-INT-08
test("keys that scroll or move the focus are the person's scrolling, keys that write or press are not", () => {
  const by = (at: At) => ["Tab", "PageDown", "PageUp", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Home", "End", " ", "Enter", "a", "Escape"].filter((k) => scrollsBy(k, at)).join();
  assert.equal(by("text"), "Tab,PageDown,PageUp");
  assert.equal(by("control"), "Tab,PageDown,PageUp,ArrowDown,ArrowUp,ArrowLeft,ArrowRight,Home,End");
  assert.equal(by("page"), "Tab,PageDown,PageUp,ArrowDown,ArrowUp,ArrowLeft,ArrowRight,Home,End, ");
});

const text = (s: string): Text => ({ lines: s.split("\n"), bytes: s.length });
const choice = (more: Partial<Choice>): Choice => ({ id: "1", kind: "acceptWithExecpolicyAmendment", accepts: true, changesRules: true, ...more });

// proves R-INT-08
test("a rule that is more than a button's name can bear stands above the button", () => {
  assert.equal(standsAbove(choice({})), false);
  assert.equal(standsAbove(choice({ rule: [text("go"), text("test")] })), false);
  assert.equal(standsAbove(choice({ rule: [text("x".repeat(9000))] })), true);
  assert.equal(standsAbove(choice({ rule: Array.from({ length: 30 }, () => text("")) })), true, "many words");
  assert.equal(standsAbove(choice({ rule: Array.from({ length: 15 }, () => text("x".repeat(20))) })), true, "words that are long together");
  assert.equal(standsAbove(choice({ ruleHost: { shown: "example.com" } })), false);
  assert.equal(standsAbove(choice({ ruleHost: { shown: "x".repeat(300) } })), true);
  assert.equal(standsAbove(choice({ ruleHost: { shown: "xn--x", unicode: "x".repeat(300) } })), true);
});

// proves R-INT-08
test("what an input or a list would cut or hide is shown whole beside it", () => {
  const field = (more: Partial<FieldView>): FieldView => ({ id: "0", name: text("n"), kind: "string", ...more });
  assert.equal(suggestion(field({ default: "main" })), undefined);
  assert.equal(suggestion(field({})), undefined);
  assert.equal(suggestion(field({ kind: "select", default: "0" })), undefined);
  assert.deepEqual(suggestion(field({ default: "a\nb" })), { lines: ["a", "b"], bytes: 3 });
  assert.deepEqual(suggestion(field({ default: "a\u202eb" }))?.lines, ["a\\u{202e}b"]);
  assert.deepEqual(suggestion(field({ default: "a\u00a0b" }))?.lines, ["a\\u{00a0}b"]);
  assert.deepEqual(suggestion(field({ default: "x".repeat(9000) }))?.bytes, 9000);
  const option = (s: string) => ({ id: "0", label: text(s), description: text("") });
  assert.equal(cuts([option("red"), option("green")]), false);
  assert.equal(cuts([option("red"), option("x".repeat(60))]), true);
  assert.equal(cuts([option("red\ngreen")]), true);
});
