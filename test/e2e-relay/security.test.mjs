// The browser as the attacker's tool: pages of other sites, other ports and other names try to reach a worker, and a page
// that another program left behind tries to listen. Each attempt that must fail stands beside one that succeeds.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { request, say, until } from "./lib/acts.mjs";
import { clean, context, enter, launch } from "./lib/browser.mjs";
import { site } from "./lib/site.mjs";
import { Stage } from "./lib/stage.mjs";

let stage, browser, world, port;

before(async () => {
  stage = new Stage();
  browser = await launch();
  world = await stage.open({ scripts: ["empty"] });
  port = new URL(world.address).port;
});
after(async () => {
  await browser?.close();
  await stage?.close();
});

/** The session that a page holds, as only itself can read it. */
const session = (page) => page.evaluate(() => JSON.parse(sessionStorage.getItem("relaycodex.session")));

const commands = async (w) => (await w.do("log")).split("\n").length;

// proves R-UI-01
test("the key is gone from the address before the page does anything, and no URL ever has one", async () => {
  const c = await context(browser), urls = [], w = await stage.open({ scripts: ["empty"] });
  c.on("request", (r) => urls.push(r.url()));
  const page = await enter(c, w);
  await page.waitForFunction(() => sessionStorage.getItem("relaycodex.session"));
  const s = await session(page), key = w.address.split("#")[1];
  assert.equal(s.origin, w.origin);
  assert.equal(page.url(), w.origin + "/");
  for (const u of urls) assert.ok(!u.slice(0, u.indexOf("#") >>> 0).includes(key) && !u.includes(s.session), u);
  assert.deepEqual(await page.evaluate(() => [document.cookie, localStorage.getItem("relaycodex.session"), history.state]), ["", null, null]);
  assert.deepEqual(await c.cookies(), []);
  await page.goBack().catch(() => {});
  assert.ok(!page.url().includes(key));
  clean(c);
  await c.close();
});

// proves R-UI-01
test("a key works once and for one worker", async () => {
  const w = await stage.open({ scripts: ["empty"] }), other = await stage.open({ scripts: ["empty"] });
  const c = await context(browser), page = await enter(c, w), address = w.address;
  await page.waitForFunction(() => sessionStorage.getItem("relaycodex.session"));
  const again = await context(browser), second = await enter(again, w, address);
  const elsewhere = await context(browser), third = await enter(elsewhere, other, other.origin + "/#" + (await w.fresh()).split("#")[1]);
  for (const p of [second, third]) {
    assert.equal(await p.getByRole("heading", { level: 1, name: "This tab is not admitted" }).innerText(), "This tab is not admitted");
    assert.match(await p.locator("main").innerText(), /An address works once, for ten minutes\. Print a fresh one where relaycodex runs.*\n+relaycodex url\n/s);
    assert.equal(await p.evaluate(() => sessionStorage.getItem("relaycodex.session")), null);
  }
  // What it asks for is what helps.
  await third.getByRole("textbox", { name: "Fresh address" }).fill(await other.fresh());
  await third.getByRole("button", { name: "Use this address" }).click();
  await third.waitForFunction(() => sessionStorage.getItem("relaycodex.session"));
  for (const x of [c, again, elsewhere]) await x.close();
});

// proves R-UI-01
test("pages of other ports, other sites and other names reach nothing, even with a stolen key", async (t) => {
  const c = await context(browser), page = await enter(c, world);
  await page.waitForFunction(() => sessionStorage.getItem("relaycodex.session"));
  const { session: key } = await session(page);
  const script = await page.evaluate(() => document.querySelector("script[data-first]").dataset.first.split(" ")[0]);
  const command = (url) => ({ url, key, script, body: JSON.stringify({ version: 1, operation: "attack-" + Math.random(), kind: "models.read", params: {} }) });
  const attempt = async ({ url, key, body, script }) => {
    const tries = {};
    const go = async (name, f) => { try { const r = await f(); tries[name] = `${r.type} ${r.status}`; } catch (e) { tries[name] = e.name; } };
    const json = { "Content-Type": "application/json", "Relay-Contract": "1", Authorization: "Relay " + key };
    await go("command", () => fetch(url + "/api/command", { method: "POST", headers: json, body }));
    await go("simple", () => fetch(url + "/api/command", { method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body }));
    await go("stream", () => fetch(url + "/api/stream", { headers: { "Relay-Contract": "1", Authorization: "Relay " + key } }));
    await go("exchange", () => fetch(url + "/api/session", { method: "POST", mode: "no-cors", body: "{}" }));
    await go("page", () => fetch(url + "/"));
    await go("cookies", () => fetch(url + "/", { credentials: "include", mode: "no-cors" }));
    await go("script", () => new Promise((r) => { const s = document.createElement("script"); s.onload = () => r({ type: "loaded", status: "" }); s.onerror = () => r({ type: "refused", status: "" }); s.src = url + script; document.head.append(s); }));
    await go("image", () => new Promise((r) => { const s = new Image(); s.onload = () => r({ type: "loaded", status: "" }); s.onerror = () => r({ type: "refused", status: "" }); s.src = url + "/icon.svg"; }));
    return tries;
  };
  // The control: the same requests from the page's own origin are answered.
  const own = await page.evaluate(attempt, command(world.origin));
  assert.deepEqual([own.command, own.stream, own.page], ["basic 200", "basic 200", "basic 200"]);
  assert.equal(await page.evaluate((s) => fetch(s).then((r) => r.status), script), 200, "the script is there");
  const judged = async () => [...(await world.do("log")).matchAll(/msg="request refused" rule=(\w+)|msg="front end admitted"/g)].map((m) => (m[1] ? "refused by " + m[1] : "admitted"));
  const { port: other } = await site(t);
  for (const origin of [`http://127.0.0.1:${other}`, `http://localhost:${other}`, `http://evil.example:${other}`, `http://127.0.0.1.evil.example:${other}`]) {
    const attacker = await browser.newContext(), p = await attacker.newPage();
    await p.goto(origin + "/");
    for (const target of [world.origin, `http://localhost:${port}`, `http://evil.example:${port}`]) {
      const before = await judged();
      const got = await p.evaluate(attempt, command(target));
      for (const [name, result] of Object.entries(got)) {
        assert.ok(/^(TypeError|opaque 0|refused )$/.test(result), `${origin} → ${target}: ${name}: ${result}`);
      }
      // The browser did ask, and it was the worker that refused, each time by the rule that is meant.
      const now = (await judged()).slice(before.length), rule = target === world.origin ? "refused by origin" : "refused by host";
      assert.deepEqual([...new Set(now)], [rule], `${origin} → ${target}`);
    }
    await attacker.close();
  }
  const log = await world.do("log");
  assert.ok(!log.includes(key), "a key is in the log");
  assert.deepEqual(await world.sent("model/list").then((l) => l.length), 2, "the connection's own reading, and the control's");
  await c.close();
});

// A name that its owner points at 127.0.0.1 after its page was loaded: the page is same-origin with what it asks then.
//
// report 49
// proves R-UI-01
test("a rebound name is refused on every route, static files too", async (t) => {
  const fake = await browser.newContext(), p = await fake.newPage();
  // The browser resolves every name to this machine, so the rebound page is one request away: the worker's own port.
  const answers = [];
  const dir = (await (await fetch(world.origin + "/")).text()).match(/\/assets\/[^/]+\//)[0];
  for (const path of ["/", dir + "page.js", dir + "page.css", dir + "markdown.js", "/api/stream", "/api/command", "/nothing"]) {
    for (const name of ["evil.example", "localhost", "127.0.0.1.evil.example", "127.0.0.1.nip.example", "[::1]"]) {
      const r = await p.goto(`http://${name}:${port}${path}`).catch(() => undefined);
      if (r) answers.push([name + path, r.status(), (await r.text()).includes("root")]);
    }
  }
  assert.ok(answers.length >= 28);
  for (const [what, status, served] of answers) assert.deepEqual([what, status, served], [what, 403, false]);
  assert.equal((await p.goto(world.origin + "/")).status(), 200, "the control: by its own name");
  await fake.close();
  void t;
});

// proves R-UI-01
test("the page cannot be put into a frame or be reached from a page that opened it", async (t) => {
  const { port: other } = await site(t, `<!doctype html><title>clickjacking</title><iframe id=f src="${world.origin}/"></iframe><iframe id=control src="/frame"></iframe>`);
  const c = await browser.newContext(), p = await c.newPage();
  const refused = [];
  p.on("console", (m) => refused.push(m.text()));
  await p.goto(`http://127.0.0.1:${other}/`);
  await p.waitForTimeout(500);
  const frames = p.frames().map((f) => f.url());
  assert.ok(frames.some((u) => u.endsWith("/frame")), "the control is framed");
  assert.ok(!frames.some((u) => u.startsWith(world.origin)), `framed: ${frames}`);
  assert.ok(refused.some((m) => /frame-ancestors|refused to (connect|display)|violates/i.test(m)), refused.join("\n"));
  const [popup] = await Promise.all([c.waitForEvent("page"), p.evaluate((u) => { globalThis.w = open(u); }, world.origin + "/")]);
  await popup.waitForLoadState();
  await p.waitForTimeout(300);
  assert.deepEqual(await p.evaluate(() => [globalThis.w.closed, (() => { try { return globalThis.w.length; } catch { return "no"; } })()]), [true, 0], "the opener holds the window");
  assert.equal(await popup.evaluate(() => opener), null);
  await c.close();
});

// proves R-UI-01
test("two workers on one machine: keys, storage, locks, channels and settings stay apart", async () => {
  const a = await stage.open({ scripts: ["empty"] }), b = await stage.open({ scripts: ["empty"] });
  const c = await context(browser), one = await enter(c, a), two = await enter(c, b);
  for (const p of [one, two]) await p.waitForFunction(() => sessionStorage.getItem("relaycodex.session"));
  const [x, y] = [await session(one), await session(two)];
  assert.notEqual(x.session, y.session);
  assert.notEqual(x.channel, y.channel);
  const cross = (key) => fetch("/api/command", { method: "POST", headers: { "Content-Type": "application/json", "Relay-Contract": "1", Authorization: "Relay " + key }, body: JSON.stringify({ version: 1, operation: "o", kind: "models.read" }) }).then((r) => r.status);
  assert.equal(await two.evaluate(cross, x.session), 401);
  assert.equal(await two.evaluate(cross, y.session), 200, "the control");
  const heard = await two.evaluate(async (name) => {
    const got = [];
    const ch = new BroadcastChannel(name);
    ch.onmessage = (e) => got.push(e.data);
    await new Promise((r) => setTimeout(r, 2500));
    return [got, (await navigator.locks.query()).held.length];
  }, "relaycodex " + x.channel);
  assert.deepEqual(heard, [[], 1], "it hears the other worker's tabs, or sees their locks");
  clean(c);
  await c.close();
});

// A development server that had this port before, and whose page is still open: same scheme, host and port.
//
// proves R-UI-01
test("a page that another program left open under the same origin learns nothing", async (t) => {
  const { port: was } = await site(t, "<!doctype html><title>left behind</title>");
  const w = await stage.open({ scripts: ["text"] }), c = await context(browser), page = await enter(c, w);
  await page.waitForFunction(() => sessionStorage.getItem("relaycodex.session"));
  // What such a page can do is what any document of the origin can do: this one never had a key.
  const stranger = await c.newPage();
  await stranger.goto(w.origin + "/LICENSES.txt");
  const got = await stranger.evaluate(async () => {
    const locks = await navigator.locks.query();
    const names = [...locks.held, ...locks.pending].map((l) => l.name);
    const heard = [];
    for (const n of [...names, "relaycodex", ...Object.values(localStorage)]) {
      const ch = new BroadcastChannel(n);
      ch.onmessage = (e) => heard.push(e.data);
      ch.postMessage({ kind: "hello", from: "x" });
    }
    await new Promise((r) => setTimeout(r, 2500));
    return { heard, names: names.length, session: sessionStorage.length, local: Object.keys(localStorage).filter((k) => k !== "relaycodex.settings"), opener: String(globalThis.opener) };
  });
  assert.ok(got.names >= 1, "it can list the lock");
  assert.deepEqual([got.heard, got.session, got.local, got.opener], [[], 0, [], "null"]);
  void was;
  await c.close();
});

/** Runs in a page before anything else: its questions whether the leader lives are put when the test says so, and the answers are counted. */
const patient = (every) => {
  const real = setTimeout, Real = BroadcastChannel;
  globalThis.questions = [];
  globalThis.pongs = 0;
  globalThis.setTimeout = (f, ms, ...more) => (ms === every ? (questions.push(f), 0) : real(f, ms, ...more));
  globalThis.BroadcastChannel = class extends Real {
    constructor(name) {
      super(name);
      this.addEventListener("message", (e) => { if (e.data?.kind === "pong") pongs++; });
    }
  };
};

/** Lets a follower put its next question. */
async function wonder(page) {
  assert.ok(await page.evaluate(() => { const due = questions.splice(0); due.forEach((f) => f()); return due.length; }) > 0, "it looks after the leader");
}

/** Lets a follower put more questions than may stay open, each when the one before was answered. */
async function reassured(page) {
  for (let i = 0; i < 4; i++) {
    const heard = await page.evaluate(() => pongs);
    await wonder(page);
    await page.waitForFunction((n) => pongs > n, heard);
  }
}

// Chromium freezes no tab on request while it can be seen, and a headless one always can (Page.setWebLifecycleState is answered
// and does nothing): the process of the tab is stopped instead. Nothing of it runs then, and its lock and stream stay. How long
// a tab waits is counted in its questions here, not in seconds: on a busy machine a leader that runs is slow, too.
//
// proves R-UI-01, R-UI-03
test("a leading tab that stands still is replaced by one that a person looks at, and follows when it runs again", async () => {
  const w = await stage.open({ scripts: ["late"] }), own = await launch(), c = await context(own);
  await c.addInitScript(patient, 2000); // tabs.ts: askEvery
  let still = 0;
  try {
    const system = await own.newBrowserCDPSession();
    const spent = async () => new Map((await system.send("SystemInfo.getProcessInfo")).processInfo.filter((p) => p.type === "renderer").map((p) => [p.id, p.cpuTime]));
    const one = await enter(c, w);
    await one.waitForFunction(() => sessionStorage.getItem("relaycodex.session"));
    const two = await enter(c, w, await w.fresh());
    await two.waitForFunction(() => sessionStorage.getItem("relaycodex.session"));
    const leader = () => two.evaluate(async () => { const l = await navigator.locks.query(); return [l.held.map((x) => x.clientId), l.pending.map((x) => x.clientId)]; });
    await until("a leader and one that waits", async () => (await leader()).flat().length === 2);
    const [[first], [second]] = await leader();
    const streams = async () => { const log = await w.do("log"); return [log.match(/stream opened/g)?.length ?? 0, log.match(/stream ended/g)?.length ?? 0]; };
    // The control: while the leader runs, nobody takes its place.
    await reassured(two);
    assert.deepEqual([await leader(), await streams()], [[[first], [second]], [1, 0]]);
    // The tab's process is the one that works when the tab does.
    const before = await spent();
    const grown = await until("the tab's process", async () => {
      await one.evaluate(() => { const end = performance.now() + 500; while (performance.now() < end); });
      const list = [...(await spent())].map(([id, t]) => [t - (before.get(id) ?? t), id]).sort((a, b) => b[0] - a[0]);
      return list[0][0] > 0.2 && list[0][0] > 3 * (list[1]?.[0] ?? 0) && list;
    });
    still = grown[0][1];
    process.kill(still, "SIGSTOP");
    await wonder(two);
    await wonder(two);
    assert.deepEqual(await leader(), [[first], [second]], "two questions may stay open");
    await wonder(two);
    await until("another leader", async () => (await leader())[0][0] === second);
    await until("its stream", async () => (await streams())[0] === 2);
    await say(two, "hello");
    await w.do("release", "ask");
    const card = await request(two);
    const id = await card.getAttribute("data-card");
    process.kill(still, "SIGCONT");
    still = 0;
    await one.waitForFunction((id) => document.querySelector(`[data-card="${id}"]`), id);
    await until("one stream", async () => { const [opened, over] = await streams(); return opened - over === 1; });
    await reassured(one);
    assert.deepEqual((await leader())[0], [second], "the old leader does not take the lead back");
    clean(c);
  } finally {
    if (still) process.kill(still, "SIGCONT");
    await own.close();
    await w.close().catch(() => {});
  }
});
