// Figures of the page, as ratios within one run: node bench.mjs [ROUNDS] [--opening]. Each is the median of at least five interleaved rounds.
//
//   frames      p95 of the time between frames while the real codex streams about 1,000 deltas a second into a thread of 1,000
//               items of 1 KiB, over the same in a bare page with an equal document whose last text grows alike
//   first paint from the click on a thread of 1,000 items (1 KiB each, and 16 MiB in all) until its newest item was painted
//   opening     one thread of 1,000 real items (500 turns) of one real app-server: from the navigation to a page with a fresh worker
//               that is connected until the newest item was painted, over the time from the start of "codex resume --remote" in a
//               terminal until the newest item was written to the terminal (what painting costs a terminal is not counted)
//   bundle      what the page loads, compressed
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { say, threadRow, until } from "./lib/acts.mjs";
import { context, enter, launch } from "./lib/browser.mjs";
import { root, Stage } from "./lib/stage.mjs";

const rounds = Math.max(5, Number(process.argv.slice(2).find((a) => !a.startsWith("--")) ?? 5));
const median = (l) => [...l].sort((a, b) => a - b)[Math.floor(l.length / 2)];
const p95 = (l) => [...l].sort((a, b) => a - b)[Math.floor(l.length * 0.95)];

/** Times between frames until stop is called. */
const watch = () => {
  globalThis.frames = [];
  let last = performance.now(), on = true;
  const tick = (now) => { frames.push(now - last); last = now; if (on) requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  globalThis.enough = () => { on = false; return frames.slice(2); };
};

async function streaming(stage, browser) {
  const w = await stage.open({ scripts: ["busy"] }), c = await context(browser), page = await enter(c, w);
  await threadRow(page, "A long thread").click();
  await page.getByRole("button", { name: /^join/i }).first().click();
  await say(page, "go on");
  await page.waitForFunction(() => document.querySelector("[role=feed]")?.textContent.includes("go on"));
  const html = await page.evaluate(() => document.documentElement.outerHTML.replace(/<script.*?<\/script>/g, "").replace(/<link[^>]*>/g, ""));
  const css = readFileSync(join(root, "internal/relay/web/dist/page.css"), "utf8");
  await page.evaluate(watch);
  await w.do("release", "go");
  await page.waitForTimeout(5000);
  const ours = p95(await page.evaluate(() => enough()));
  await page.close();
  const bare = await c.newPage();
  await bare.setContent(html.replace("</head>", `<style>${css}</style></head>`));
  await bare.evaluate(watch);
  await bare.evaluate(() => new Promise((r) => {
    const items = document.querySelectorAll("[role=feed] article"), text = items[items.length - 1].appendChild(document.createTextNode(""));
    let n = 0;
    const t = setInterval(() => { for (let i = 0; i < 16; i++) text.data += `w${n++} `; }, 16);
    setTimeout(() => { clearInterval(t); r(); }, 5000);
  }));
  const theirs = p95(await bare.evaluate(() => enough()));
  await c.close();
  await w.close().catch(() => {});
  return { ours, theirs };
}

async function paint(stage, browser, script) {
  const w = await stage.open({ scripts: [script] }), c = await context(browser), page = await enter(c, w);
  const row = threadRow(page, "A long thread");
  await row.waitFor();
  const took = await page.evaluate(() => new Promise((r) => {
    const began = performance.now();
    [...document.querySelectorAll(".tlist a")].find((a) => a.textContent.includes("A long thread")).click();
    const look = () => (document.querySelector("[role=feed]")?.textContent.includes("Answer 499") ? requestAnimationFrame(() => setTimeout(() => r(performance.now() - began))) : requestAnimationFrame(look));
    look();
  }));
  await c.close();
  await w.close().catch(() => {});
  return took;
}

/** Milliseconds from the navigation until the newest item of the made thread was painted; its row is used when it is there. */
async function opening(browser, w) {
  const before = (await w.do("wire")).length;
  w.address = await w.do("restart");
  await until("the connection", async () => {
    const wire = (await w.do("wire")).slice(before), ask = wire.find((f) => f.sent && f.method === "thread/list");
    return ask && wire.some((f) => !f.sent && f.id === ask.id && f.result !== undefined);
  });
  const c = await context(browser), page = await c.newPage();
  c.origins = [w.origin];
  await page.addInitScript(() => {
    const look = () => {
      const row = document.querySelector(".tlist a");
      if (row && !row.hasAttribute("aria-current") && !globalThis.used) {
        globalThis.used = true;
        row.click();
      }
      if (document.querySelector("[role=feed]")?.textContent.includes("unknown scenario last")) requestAnimationFrame(() => setTimeout(() => { globalThis.painted = performance.now(); }));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.goto(w.address);
  const took = await (await page.waitForFunction(() => globalThis.painted)).jsonValue();
  const visible = await page.evaluate(() => { const a = [...document.querySelectorAll("[role=feed] article")].at(-1).getBoundingClientRect(); return a.height > 0 && a.top < innerHeight && a.bottom > 0; });
  if (!visible) throw new Error("the newest item is not on the screen");
  await c.close();
  return took;
}

const stage = new Stage(), browser = await launch();
try {
  const frames = [], small = [], large = [], page = [], terminal = [];
  const real = await stage.open({ remote: true, turns: 500 });
  for (let i = 0; i <= rounds; i++) { // the server reads the thread for the first time in a round that does not count
    const order = [async () => page.push(await opening(browser, real)), async () => terminal.push((await real.do("terminal")).ms)];
    if (i % 2) order.reverse();
    for (const one of order) await one();
    if (i === 0) page.length = terminal.length = 0;
  }
  await real.close();
  const ratio = median(page) / median(terminal);
  console.log(`opening a thread of 1,000 items: page ${median(page).toFixed(0)} ms (${page.map(Math.round)}), codex resume --remote ${median(terminal).toFixed(0)} ms (${terminal.map(Math.round)}): ${ratio.toFixed(2)} (goal 0.5, ${ratio <= 0.5 ? "met" : "missed"})`);
  if (!process.argv.includes("--opening")) {
    for (let i = 0; i < rounds; i++) {
      frames.push(await streaming(stage, browser));
      small.push(await paint(stage, browser, "thousand"));
      large.push(await paint(stage, browser, "large"));
    }
    const dist = join(root, "internal/relay/web/dist"), files = readdirSync(dist).filter((f) => f !== "LICENSES.txt").map((f) => readFileSync(join(dist, f)));
    const sum = (f) => (files.reduce((n, d) => n + f(d).length, 0) / 1024).toFixed(0);
    console.log(`frames while streaming: p95 ${median(frames.map((f) => f.ours)).toFixed(1)} ms, ${median(frames.map((f) => f.ours / f.theirs)).toFixed(2)} × a bare page (goal 1.2)`);
    console.log(`first paint of 1,000 items: ${median(small).toFixed(0)} ms; of 16 MiB: ${median(large).toFixed(0)} ms`);
    console.log(`bundle: ${sum(brotliCompressSync)} KiB brotli, ${sum((d) => gzipSync(d, { level: 9 }))} KiB gzip (goal 150)`);
  }
  console.log(`medians of ${rounds} interleaved rounds`);
} finally {
  await browser.close();
  await stage.close();
}
