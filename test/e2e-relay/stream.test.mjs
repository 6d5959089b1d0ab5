// The stream of events of a page: cut, stalled, loaded anew and shared by tabs, it loses nothing and tells nothing twice.
import assert from "node:assert/strict";
import { answered, choose, commandApproval, request, say, until } from "./lib/acts.mjs";
import { clean, context, enter } from "./lib/browser.mjs";
import { prepare, scene, shared } from "./lib/scene.mjs";

prepare();

/** The thread as the plain page has it. */
async function plain(page) {
  await page.getByRole("button", { name: "Plain page" }).click();
  await page.waitForFunction(() => !document.querySelector("dialog[open]").textContent.includes("Reading earlier items"));
  const text = await page.getByRole("group", { name: "Plain page" }).textContent();
  await page.keyboard.press("Escape");
  await page.locator("dialog[open]").waitFor({ state: "detached" });
  return text;
}

const over = (page) => page.waitForFunction(() => document.querySelector("textarea#composer") && !document.querySelector(".composer [aria-keyshortcuts='Control+.']"));

/** Runs in a page before anything else: cut(part) ends the event stream within the next event, after that part of its bytes. */
const scissors = () => {
  const real = fetch;
  globalThis.cuts = [];
  globalThis.fetch = async (url, ...more) => {
    const r = await real(url, ...more);
    if (!String(url?.url ?? url).endsWith("/api/stream") || !r.ok) return r;
    const body = r.body.pipeThrough(new TransformStream({
      transform(chunk, to) {
        if (cuts.length === 0 || !new TextDecoder().decode(chunk).includes("data:")) return to.enqueue(chunk);
        to.enqueue(chunk.slice(0, Math.floor(chunk.length * cuts.shift())));
        setTimeout(() => to.error(new TypeError("cut"))); // what arrived is read first
      },
    }));
    return new Response(body, { status: r.status, headers: r.headers });
  };
};

// report 35
// proves R-UI-03
scene("a stream that is cut within an event, again and again, goes on behind the last whole one: nothing is missing or there twice", { scripts: ["counted"], init: scissors }, async ({ w, page }) => {
  await w.do("release", "begin");
  await say(page, "count");
  const want = ["You\ncount"], parts = [0, 0.3, 0.6, 0.9, 0.99];
  for (let i = 0; i < parts.length; i++) {
    await page.evaluate((part) => { cuts.push(part); }, parts[i]);
    await w.do("release", `part ${i}`);
    await page.locator(`article[data-row="u/m${i}"]`, { hasText: `line 29 of ${i}.` }).waitFor();
    await until("the cut", () => page.evaluate(() => cuts.length === 0));
    if (i === 2) { // and a reload in the middle of the turn
      await page.reload();
      await page.locator(`article[data-row="u/m${i}"]`, { hasText: `line 29 of ${i}.` }).waitFor();
    }
    want.push("Codex\n" + Array.from({ length: 30 }, (_, n) => `line ${n} of ${i}. `).join(""));
  }
  await over(page);
  assert.equal(await plain(page), want.join("\n\n"));
  const resumed = (await w.do("log")).match(/stream opened.*/g).map((l) => /resumed=true/.test(l));
  assert.deepEqual([resumed[0], resumed.slice(1).every((r) => r)], [true, true], `each went on behind an event: ${resumed}`);
  assert.ok(resumed.length >= parts.length + 1, "it was cut each time");
  assert.equal((await w.sent("turn/start")).length, 1);
});

// report 24
// part of R-REL-04
scene("a page that stands still is cut off and holds nobody up; when it goes on it has everything, once", { scripts: ["kilobytes"], write: 3000 }, async ({ w, page }) => {
  const c = await context(shared.browser), other = await enter(c, w, await w.fresh()), asked = { one: 0, other: 0 };
  for (const [name, p] of [["one", page], ["other", other]]) p.on("request", (r) => { if (r.url().endsWith("/api/stream")) asked[name]++; });
  try {
    await w.do("release", "begin");
    await say(page, "hello");
    await other.locator(".tlist a").first().click();
    for (const p of [page, other]) await p.locator("[role=feed] article", { hasText: "hello" }).waitFor();
    Object.assign(asked, { one: 0, other: 0 }); // what has shown something has its stream
    const cdp = await page.context().newCDPSession(page), stands = new Promise((r) => { cdp.once("Debugger.paused", r); });
    await cdp.send("Debugger.enable");
    await cdp.send("Debugger.pause");
    let moved = false;
    const paused = page.evaluate(() => 1).then(() => { moved = true; }, () => {});
    await stands;
    await w.do("release", "go");
    await other.locator("[role=feed]", { hasText: "the last word" }).waitFor({ timeout: 120_000 });
    await over(other);
    const log = await until("the end of the stalled stream", async () => { const l = await w.do("log"); return /stream ended.*slow=true/.test(l) && l; });
    assert.equal(moved, false, "the page stood still while all of it was sent");
    assert.deepEqual([log.match(/slow=true/g).length, asked], [1, { one: 0, other: 0 }], "one was cut off, and it was that page");
    await cdp.send("Debugger.resume").catch(() => {});
    await cdp.send("Debugger.disable");
    await paused;
    await page.locator("[role=feed]", { hasText: "the last word" }).waitFor();
    await over(page);
    assert.equal(asked.one, 1, "it came back");
    assert.match((await w.do("log")).slice(log.length), /stream opened.*resumed=true/);
    const text = await plain(page), words = (s) => s.replace(/(0123456789abcde ?)+[0-9a-e]*\n/g, "…\n"); // how much of a long message is kept depends on when it was read
    assert.equal(words(text), words(await plain(other)), "what the page has that never stood still");
    assert.deepEqual(text.match(/^(Codex|You)$/gm), ["You", ...Array(41).fill("Codex")]);
    clean(c);
  } finally {
    await c.close();
  }
});

// proves R-UI-01, R-UI-03
scene("eight tabs hold one stream; a closed leader is replaced behind the last batch; what a follower answers is answered once and gone everywhere", { scripts: ["patient"] }, async ({ w, c, page }) => {
  const pages = [page];
  for (let i = 1; i < 8; i++) pages.push(await enter(c, w, await w.fresh()));
  for (const p of pages) await p.waitForFunction(() => sessionStorage.getItem("relaycodex.session"));
  const left = () => pages.filter((p) => !p.isClosed());
  const locks = (p) => p.evaluate(async () => (await navigator.locks.query()).held.map((l) => l.clientId));
  assert.equal(new Set((await Promise.all(left().map(locks))).flat()).size, 1);
  const streams = async () => { const log = await w.do("log"); return (log.match(/stream opened/g)?.length ?? 0) - (log.match(/stream ended/g)?.length ?? 0); };
  assert.equal(await streams(), 1);
  // The first tab leads: close it. The next one goes on, and still there is one stream.
  await pages[0].close();
  await until("the next leader", async () => (await locks(pages[1])).length === 1);
  await until("one stream", async () => (await streams()) === 1);
  assert.match(await w.do("log"), /stream opened.*resumed=true/, "the next leader went on behind the last batch");
  // Two tabs that do not lead: one asks, the other one answers.
  await w.do("release", "begin");
  await say(pages[6], "hello");
  await w.do("release", "ask");
  for (const p of left()) await request(p);
  await pages[7].bringToFront();
  await choose(await request(pages[7]), "accept");
  await answered(w, commandApproval, { decision: "accept" }, 1);
  for (const p of left()) await p.waitForFunction(() => !document.querySelector("#needs"));
  assert.deepEqual([await w.answers(commandApproval), await streams()], [[[{ decision: "accept" }]], 1]);
});
