import assert from "node:assert/strict";
import { test } from "node:test";
import { paths, type Event } from "../src/contract";
import { begin } from "../src/link/begin";
import { parseAddress } from "../src/link/key";
import { EventParser } from "../src/link/sse";
import { LinkError } from "../src/link/types";
import { key, origin, settle, world, Worker } from "./fakes";
import { Random } from "./random";

const draft = (revision: number): Event => ({ kind: "draft", body: { thread: "t", text: "text " + revision, revision } });

test("events are the same however the bytes are cut", () => {
  const text = ": open\n\nid: aa-1\ndata: {\"a\":1}\n\n: still here\n\nid: aa-2\ndata: x\n\nid: aa-3\n\n";
  for (let seed = 1; seed < 200; seed++) {
    const r = new Random(seed), p = new EventParser(), got = [];
    for (let i = 0; i < text.length; ) {
      const n = 1 + r.below(9);
      got.push(...p.push(text.slice(i, i + n)));
      i += n;
    }
    assert.deepEqual(got, [{ id: "aa-1", data: "{\"a\":1}" }, { id: "aa-2", data: "x" }]);
  }
  assert.throws(() => { const p = new EventParser(); for (let i = 0; i < 70; i++) p.push("x".repeat(1 << 20)); });
});

test("a key is read from this origin's address only", () => {
  const k = key("k");
  for (const good of [k, " " + k + "\n", "#" + k, origin + "/#" + k, origin + "#" + k]) assert.equal(parseAddress(good, origin)?.key, k, good);
  for (const bad of ["", "#", k + "x", "#" + k + "#" + k, "http://127.0.0.1:4001/#" + k, "https://127.0.0.1:4000/#" + k, "http://127.0.0.1:4000.evil.example/#" + k, origin + "/x#" + k, "#" + k.slice(1) + "="]) {
    assert.equal(parseAddress(bad, origin)?.key, undefined, bad);
  }
});

test("an address can name a thread, with a key or without", () => {
  const k = key("k");
  assert.deepEqual(parseAddress(origin + "/#" + k + "&thread=01a-b_c", origin), { key: k, thread: "01a-b_c" });
  assert.deepEqual(parseAddress("#thread=t", origin), { thread: "t" });
  assert.deepEqual(parseAddress(k, origin), { key: k });
  for (const bad of ["#" + k + "&thread=", "#" + k + "&thread=a b", "#" + k + "&x=t", "#" + k + "&thread=t&thread=u", "#thread=../x", "#thread=" + "a".repeat(129), "#thread=t&" + k, "http://127.0.0.1:1/#" + k + "&thread=t"]) assert.equal(parseAddress(bad, origin), undefined, bad);
});

// proves R-UI-01
test("a key leaves the address before it is traded, and it is traded before the tab's storage is waited for", () => {
  const w = world(), tab = w.tab(), env = tab.env(), done: string[] = [];
  tab.hash = "#" + key("k") + "&thread=t";
  const begun = begin({
    ...env,
    fetch: (path, init) => { done.push(path); return env.fetch(path, init); },
    history: { state: null, replaceState: (...a: [unknown, string]) => { done.push("address"); env.history.replaceState(...a); } },
    storage: { ...env.storage, getItem: (k) => { done.push("storage"); return env.storage.getItem(k); } },
  });
  assert.deepEqual(done, ["address", paths.session, "storage"]);
  assert.deepEqual([begun.key, begun.thread, begun.session], [key("k"), "t", undefined]);
});

// proves R-UI-01
test("with the first answer the page is there: the stream goes on behind it, and nothing is missed", async () => {
  const w = world(), tab = w.tab();
  w.worker.starts = true;
  w.worker.keys.add(key("k"));
  w.worker.emit(draft(1));
  const link = tab.link("#" + key("k") + "&thread=t");
  await link.first;
  assert.equal(link.phase.value.name, "live");
  assert.equal(link.wanted.value, "t");
  assert.deepEqual(w.worker.requests.map((r) => [r.path, (r.body as { start?: unknown } | undefined)?.start, r.hash]), [["/api/session", { thread: "t" }, ""]]);
  w.worker.emit(draft(2)); // before the stream is open
  await settle();
  assert.deepEqual(w.worker.streams.map((s) => s.last), ["aa-1"]);
  assert.equal(link.state.value?.drafts.get("t")?.revision, 2);
  link.close();
  // A reload asks for the same with the session that it has, and a worker that does not know it is told apart from one that is away.
  const again = tab.link();
  await again.first;
  assert.equal(again.phase.value.name, "live");
  assert.deepEqual(w.worker.requests.filter((r) => r.path === "/api/command").map((r) => (r.body as { kind: string }).kind), ["snapshot.read"]);
  again.close();
  w.worker.sessions.clear();
  const refused = tab.link();
  await settle();
  assert.equal(refused.phase.value.name, "refused");
  assert.equal(tab.stored.size, 0);
  refused.close();
});

test("a second tab with a first answer of its own follows the first one without a gap", async () => {
  const w = world(), one = w.tab(), two = w.tab();
  w.worker.starts = true;
  for (const k of ["k", "l"]) w.worker.keys.add(key(k));
  const a = one.link("#" + key("k"));
  await settle();
  w.worker.emit(draft(1));
  await settle();
  const b = two.link("#" + key("l"));
  await b.first;
  w.worker.emit(draft(2));
  await settle();
  w.worker.emit(draft(3));
  await settle();
  for (const l of [a, b]) assert.equal(l.state.value?.drafts.get("t")?.revision, 3);
  assert.equal(w.worker.streams.length, 1);
  a.close();
  b.close();
});

test("an address within the page names a thread without a key", async () => {
  const w = world(), tab = w.tab();
  w.worker.keys.add(key("k"));
  const link = tab.link("#" + key("k"));
  await settle();
  tab.hash = "#thread=other";
  tab.fire("hashchange");
  assert.deepEqual([link.wanted.value, tab.hash, link.phase.value.name], ["other", "", "live"]);
  link.close();
});

// proves R-UI-01
test("the key leaves the address before any request, is exchanged once, and never goes into a URL or over a channel", async () => {
  const w = world(), tab = w.tab();
  w.worker.keys.add(key("k"));
  const link = tab.link("#" + key("k"));
  assert.deepEqual([tab.hash, tab.replaced], ["", ["/"]]);
  await settle();
  assert.equal(link.phase.value.name, "live");
  const stored = JSON.parse([...tab.stored.values()][0]!) as { origin: string; session: string };
  assert.equal(stored.origin, origin);
  for (const r of w.worker.requests) assert.equal(r.hash, "", "something was sent with the key in the address");
  for (const r of w.worker.requests) assert.ok(!r.path.includes(key("k")) && !r.path.includes(stored.session));
  await settle();
  assert.ok(!JSON.stringify(w.hub.log).includes(stored.session), "a session key went over the channel");
  assert.ok(![...w.locks.names].some((n) => n.includes(w.worker.channel)), "the channel's name can be read from the lock's");
  link.close();
  // A reload: no key in the address, the session is there.
  const again = tab.link();
  await settle();
  assert.equal(again.phase.value.name, "live");
  assert.equal(w.worker.requests.filter((r) => r.path === "/api/session").length, 1);
  again.close();
});

test("a session of another origin, or what is no session, is not used", async () => {
  for (const value of ["", "{", "null", JSON.stringify({ origin: "http://127.0.0.1:1", session: key("s"), channel: key("c") }), JSON.stringify({ origin, session: "short", channel: key("c") })]) {
    const w = world(), tab = w.tab();
    tab.stored.set("relaycodex.session", value);
    const link = tab.link();
    await settle();
    assert.equal(link.phase.value.name, "refused");
    assert.equal(w.worker.requests.length, 0);
    assert.equal(tab.stored.size, 0);
    link.close();
  }
});

// report 35
test("after a cut the stream goes on behind the last batch: nothing is missed and nothing comes twice", async () => {
  const w = world(), tab = w.tab();
  w.worker.keys.add(key("k"));
  const link = tab.link("#" + key("k"));
  await settle();
  for (let i = 1; i <= 3; i++) w.worker.emit(draft(i));
  await settle();
  w.worker.down = true;
  w.worker.cut();
  await settle();
  w.worker.emit(draft(4));
  await tab.pass(1000);
  assert.equal(link.phase.value.name, "lost");
  assert.equal(link.state.value?.drafts.get("t")?.revision, 3, "what is shown stays");
  w.worker.down = false;
  await tab.pass(20_000);
  assert.equal(link.phase.value.name, "live");
  assert.deepEqual(w.worker.streams.map((s) => s.last), ["aa-3"]);
  assert.equal(link.state.value?.drafts.get("t")?.revision, 4);
  link.close();
});

test("silence on the stream is a cut", async () => {
  const w = world(), tab = w.tab();
  w.worker.keys.add(key("k"));
  const link = tab.link("#" + key("k"));
  await settle();
  w.worker.down = true;
  await tab.pass(60_000);
  assert.equal(link.phase.value.name, "lost");
  link.close();
});

// proves R-UI-04
test("another version is told, and nothing is tried again", async () => {
  const w = world(), tab = w.tab();
  w.worker.keys.add(key("k"));
  w.worker.version = 2;
  const link = tab.link("#" + key("k"));
  await tab.pass(60_000);
  assert.equal(link.phase.value.name, "mismatch");
  assert.match(link.phase.value.name === "mismatch" ? (link.phase.value.problem?.text ?? "") : "", /version/);
  assert.equal(w.worker.requests.length, 1);
  link.close();
});

test("a command whose answer is lost is sent again under the same operation, and executed once", async () => {
  const w = world(), tab = w.tab();
  w.worker.keys.add(key("k"));
  const link = tab.link("#" + key("k"));
  await settle();
  w.worker.loseAnswers = 2;
  const result = link.command("turn.send", { thread: "t", text: "hello" });
  await tab.pass(10_000);
  assert.equal((await result).status, "done");
  const sent = w.worker.requests.filter((r) => r.path === "/api/command");
  assert.equal(sent.length, 3);
  assert.equal(new Set(sent.map((r) => JSON.stringify(r.body))).size, 1);
  assert.deepEqual([...w.worker.executed.values()], [1]);
  link.close();
});

// proves R-PRI-04
test("a command whose answer is lost is not sent to the next worker", async () => {
  const w = world(), tab = w.tab();
  w.worker.keys.add(key("k"));
  const link = tab.link("#" + key("k"));
  await settle();
  w.worker.loseAnswers = 1;
  const result = link.command("turn.send", { thread: "t", text: "hello" }).catch((e: unknown) => e);
  await settle();
  const next = new Worker();
  next.keys.add(key("n"));
  tab.worker = next;
  assert.equal(await link.submitKey(key("n")), true);
  await tab.pass(10_000);
  const e = await result;
  assert.ok(e instanceof LinkError && e.kind === "unreachable", "nobody knows what became of it");
  assert.equal(next.executed.size, 0);
  assert.equal(link.phase.value.name, "live", "the next worker's session stands");
  link.close();
});

// part of R-REC-03
test("a restarted worker refuses the old key; the tab keeps its state and takes a fresh address without a reload", async () => {
  const w = world(), tab = w.tab();
  w.worker.keys.add(key("k"));
  const link = tab.link("#" + key("k"));
  await settle();
  w.worker.emit(draft(1));
  await settle();
  const next = new Worker();
  Object.assign(next, { epoch: "bb", channel: key("D") });
  tab.worker = next;
  w.worker.cut();
  await tab.pass(5_000);
  assert.equal(link.phase.value.name, "refused");
  assert.equal(tab.stored.size, 0, "the dead key is not kept");
  assert.equal(link.state.value?.drafts.get("t")?.text, "text 1");
  assert.equal(await link.submitKey(key("x")), false);
  assert.equal(link.phase.value.name, "refused");
  assert.equal(await link.submitKey("http://127.0.0.1:9/#" + key("y")), false);
  next.keys.add(key("n"));
  tab.hash = "#" + key("n"); // the person pastes the address into the same tab: no reload, only another fragment
  tab.fire("hashchange");
  await settle();
  assert.deepEqual([tab.hash, link.phase.value.name], ["", "live"]);
  assert.equal(link.state.value?.drafts.size, 0, "what the new worker has");
  link.close();
});

test("a used address shows what it is; a tab that was admitted before stays so", async () => {
  const w = world(), tab = w.tab();
  const refused = tab.link("#" + key("k"));
  await tab.pass(10_000);
  assert.equal(refused.phase.value.name, "refused");
  refused.close();
  w.worker.keys.add(key("g"));
  const first = tab.link("#" + key("g"));
  await settle();
  first.close();
  const second = tab.link("#" + key("g"));
  await settle();
  assert.equal(second.phase.value.name, "live");
  second.close();
});
