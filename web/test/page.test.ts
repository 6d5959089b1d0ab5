import { test } from "node:test";
import assert from "node:assert/strict";
import { sends, type Key } from "../src/composer/keys";
import { oneLine } from "../src/dock/Form";
import { replies } from "../src/dock/Questions";
import { choiceName } from "../src/dock/title";
import type { Card, QuestionsView } from "../src/contract";
import { Announcer, type Region } from "../src/state/announce";
import { turnEnded } from "../src/state/say";
import { parse } from "../src/state/settings";
import { en } from "../src/text/en";
import { statusOf } from "../src/shell/status";

const key = (o: Partial<Key> = {}): Key => ({ key: "Enter", keyCode: 13, isComposing: false, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...o });

// proves R-UI-02
test("Enter sends, never while an input method composes", () => {
  assert.equal(sends(key(), "enter"), true);
  assert.equal(sends(key({ shiftKey: true }), "enter"), false);
  assert.equal(sends(key(), "ctrl"), false);
  for (const held of [{ ctrlKey: true }, { metaKey: true }]) assert.equal(sends(key(held), "ctrl"), true);
  for (const setting of ["enter", "ctrl"] as const) {
    for (const composing of [{ isComposing: true }, { keyCode: 229 }]) {
      for (const held of [{}, { ctrlKey: true }, { metaKey: true }]) assert.equal(sends(key({ ...composing, ...held }), setting), false);
    }
    assert.equal(sends(key({ key: "a" }), setting), false);
    assert.equal(sends(key({ altKey: true }), setting), false);
  }
});

// proves R-UI-02
test("the end of a turn is news, also when nobody saw it run, and only once", () => {
  const t = (id: string | undefined, status: string | undefined, thread = "t") => ({ thread, id, status });
  for (const [before, now, want] of [
    [t("a", "running"), t("a", "completed"), true],
    [t("a", "completed"), t("b", "completed"), true], // it began and ended within one batch
    [t(undefined, undefined), t("a", "failed"), true],
    [t("a", "completed"), t("a", "completed"), false],
    [t("a", "running"), t("b", "running"), false],
    [t("a", "completed"), t("b", "running"), false],
    [t("a", "running"), t("b", "completed", "other"), false], // another thread was opened
    [undefined, t("a", "completed"), false],
  ] as const) assert.equal(turnEnded(before, now), want, JSON.stringify([before, now]));
});

function announcer() {
  let now = 0;
  const timers: { at: number; f: () => void }[] = [], said: string[] = [];
  const a = new Announcer((region, text) => said.push(`${now} ${region} ${text}`), { now: () => now, after: (ms, f) => timers.push({ at: now + ms, f }) });
  const to = (t: number) => {
    for (;;) {
      const next = timers.sort((x, y) => x.at - y.at)[0];
      if (!next || next.at > t) break;
      timers.shift();
      now = next.at;
      next.f();
    }
    now = t;
  };
  return { a, said, to };
}

// proves R-UI-02
test("at most one message in two seconds, the later replaces the earlier, alerts go first", () => {
  const { a, said, to } = announcer();
  a.say("polite", "one");
  a.say("polite", "two");
  a.say("polite", "three");
  a.say("alert", "now");
  to(10_000);
  a.say("polite", "later");
  to(20_000);
  assert.deepEqual(said, ["0 polite one", "2000 alert now", "4000 polite three", "10000 polite later"]);
});

// proves R-UI-02
test("any sequence of messages keeps the distance", () => {
  const { a, said, to } = announcer();
  for (let i = 0; i < 500; i++) {
    a.say((["polite", "alert"] as Region[])[i % 3 === 0 ? 1 : 0] as Region, String(i));
    to(i * 137);
  }
  to(1_000_000);
  const times = said.map((s) => Number(s.split(" ")[0]));
  for (let i = 1; i < times.length; i++) assert.ok((times[i] ?? 0) - (times[i - 1] ?? 0) >= 2000);
  assert.ok(said.at(-1)?.endsWith("499") || said.at(-2)?.endsWith("499"));
});

test("stored settings are taken as far as they are known", () => {
  const none = parse(null);
  assert.deepEqual(none, { theme: "system", language: "auto", enter: "enter", announce: "all", helpKey: "on" });
  for (const bad of ["", "[]", "1", "null", "{", '{"theme":"red","language":1,"enter":{}}']) assert.deepEqual(parse(bad), none, bad);
  assert.equal(parse('{"theme":"dark","x":1}').theme, "dark");
});

// proves R-INT-02
test("questions: what was chosen, a text of one's own, and nothing for the rest", () => {
  const t = { lines: [""], bytes: 0 };
  const view: QuestionsView = { blocking: true, questions: [{ id: "0", header: t, question: t, options: [], other: true }, { id: "1", header: t, question: t, freeText: true }, { id: "2", header: t, question: t, options: [] }] };
  assert.deepEqual(replies(view, new Map([["0", { option: "other", text: " " }], ["1", { text: "free" }], ["2", { option: "0", text: "left behind" }]])), { "1": { text: "free" }, "2": { option: "0" } });
  assert.deepEqual(replies(view, new Map([["0", { option: "other", text: "mine" }]])), { "0": { text: "mine" } });
  assert.deepEqual(replies(view, new Map()), {});
});

// proves R-INT-08
test("options of a list that differ in a line end look different", () => {
  const text = (...lines: string[]) => ({ lines, bytes: lines.join("\n").length });
  assert.equal(new Set([text("a b"), text("a", "b"), text("a", "", "b"), text("a  b")].map(oneLine)).size, 4);
});

// proves R-INT-03
test("a choice that this version does not know keeps the server's name and promises nothing", () => {
  const card = { kind: "command" } as Card;
  assert.deepEqual(choiceName(en, card, "acceptForever"), { name: "acceptForever", what: "", raw: "acceptForever" });
  for (const kind of ["accept", "acceptForSession", "acceptWithExecpolicyAmendment", "applyNetworkPolicyAmendment", "decline", "cancel"]) {
    const n = choiceName(en, card, kind);
    assert.ok(n.name !== kind && n.raw === kind);
  }
});

// proves R-CONN-05, R-CONN-06
test("every state of the connection has a glyph and a word, and local and remote are told apart", () => {
  const base = { generation: 1, profile: "p", host: "h", preview: false };
  const words = new Set<string>();
  for (const transport of ["local", "remote"] as const) {
    for (const state of ["offline", "connecting", "connected", "reconnecting", "waitingForManualReconnect"] as const) words.add(statusOf(en, { name: "live" }, { ...base, transport, state }, undefined).word);
  }
  assert.equal(words.size, 8);
  for (const name of ["starting", "refused", "mismatch"] as const) assert.ok(statusOf(en, { name }, undefined, undefined).word);
  assert.equal(statusOf(en, { name: "lost", sinceMs: 0 }, { ...base, transport: "local", state: "connected" }, undefined).tone, "attn");
});
