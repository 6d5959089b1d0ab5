import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../src/contract";
import type { Link } from "../src/link/types";
import { key, settle, world } from "./fakes";

const draft = (revision: number): Event => ({ kind: "draft", body: { thread: "t", text: "text " + revision, revision } });

async function eight() {
  const w = world(), tabs = Array.from({ length: 8 }, () => w.tab());
  const links: Link[] = [];
  for (const [i, tab] of tabs.entries()) {
    w.worker.keys.add(key(String(i)));
    links.push(tab.link("#" + key(String(i))));
    await settle();
  }
  const revisions = () => links.map((l) => l.state.value?.drafts.get("t")?.revision);
  return { ...w, tabs, links, revisions };
}

// proves R-UI-01
test("eight tabs hold one stream and show the same", async () => {
  const w = await eight();
  assert.equal(w.worker.streams.length, 1);
  assert.deepEqual(w.links.map((l) => l.phase.value.name), Array(8).fill("live"));
  for (let i = 1; i <= 20; i++) w.worker.emit(draft(i));
  await settle();
  assert.deepEqual(w.revisions(), Array(8).fill(20));
  for (const l of w.links) assert.deepEqual(l.state.value, w.links[0]!.state.value);
  // Each tab sends its own commands under its own key.
  await Promise.all(w.links.map((l) => l.command("models.read", {})));
  const used = w.worker.requests.filter((r) => r.path === "/api/command").map((r) => r.headers.get("Authorization"));
  assert.equal(new Set(used).size, 8);
  const sessions = w.tabs.map((t) => (JSON.parse(t.stored.get("relaycodex.session")!) as { session: string }).session);
  for (const s of sessions) assert.ok(!JSON.stringify(w.hub.log).includes(s), "a session key went over the channel");
  w.links.forEach((l) => l.close());
});

test("when the leading tab is closed, another one goes on behind the same batch", async () => {
  const w = await eight();
  w.worker.emit(draft(1));
  await settle();
  w.links[0]!.close();
  await settle();
  w.worker.emit(draft(2));
  for (const t of w.tabs.slice(1)) await t.pass(100);
  assert.equal(w.worker.streams.length, 1);
  assert.equal(w.worker.streams[0]!.last, "aa-1");
  assert.deepEqual(w.revisions().slice(1), Array(7).fill(2));
  w.links.forEach((l) => l.close());
});

test("a frozen leader is replaced by a tab that a person sees, and steps down when it thaws", async () => {
  const w = await eight();
  w.tabs[0]!.frozen = true;
  w.tabs.forEach((t, i) => { t.seen = i === 3; });
  for (let i = 0; i < 8; i++) for (const t of w.tabs.slice(1)) await t.pass(1000);
  w.worker.emit(draft(1));
  await settle();
  assert.deepEqual(w.revisions().slice(1), Array(7).fill(1));
  assert.equal(w.worker.streams.at(-1)!.tab, w.tabs[3]);
  w.tabs[0]!.frozen = false;
  await w.tabs[0]!.pass(3000);
  w.worker.emit(draft(2));
  for (const t of w.tabs) await t.pass(100);
  assert.deepEqual(w.revisions(), Array(8).fill(2));
  assert.equal(w.worker.streams.length, 1, "the old leader gave its stream up");
  w.links.forEach((l) => l.close());
});

test("a tab that missed batches asks for the state", async () => {
  const w = await eight();
  w.worker.emit(draft(1));
  await settle();
  w.tabs[5]!.frozen = true;
  w.worker.emit(draft(2));
  w.worker.emit(draft(3));
  await settle();
  w.tabs[5]!.frozen = false;
  assert.equal(w.revisions()[5], 1);
  w.tabs[5]!.fire("visible");
  await settle();
  assert.equal(w.revisions()[5], 3);
  w.links.forEach((l) => l.close());
});

test("all tabs tell that the connection is lost, and that it is back", async () => {
  const w = await eight();
  w.worker.down = true;
  w.worker.cut();
  await w.tabs[0]!.pass(1000);
  assert.deepEqual(w.links.map((l) => l.phase.value.name), Array(8).fill("lost"));
  w.worker.down = false;
  await w.tabs[0]!.pass(20_000);
  assert.deepEqual(w.links.map((l) => l.phase.value.name), Array(8).fill("live"));
  w.links.forEach((l) => l.close());
});

// A page that another program left open under this origin, such as a development server that had this port before.
//
// proves R-UI-01
test("a page of the same origin without a key hears nothing and cannot speak", async () => {
  const w = await eight();
  const stranger = w.tab(), heard: unknown[] = [];
  for (const name of [...w.locks.names, "relaycodex", "relaycodex "]) {
    const c = w.hub.join(stranger, name);
    c.onmessage = (e) => heard.push(e.data);
    c.postMessage({ kind: "hello", from: "x" });
    c.postMessage({ kind: "phase", from: "x", phase: { name: "mismatch" } });
  }
  w.worker.emit(draft(1));
  await settle();
  assert.deepEqual(heard, []);
  assert.deepEqual(w.links.map((l) => l.phase.value.name), Array(8).fill("live"));
  w.links.forEach((l) => l.close());
});
