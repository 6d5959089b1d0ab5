// Figures of the page, as ratios within one run: node bench.mjs [ROUNDS]. Each is the median of at least five interleaved rounds.
//
//   frames      p95 of the time between frames while the real codex streams about 1,000 deltas a second into a thread of 1,000
//               items of 1 KiB, over the same in a bare page with an equal document whose last text grows alike
//   first paint from the click on a thread of 1,000 items (1 KiB each, and 16 MiB in all) until its newest item was painted
//   bundle      what the page loads, compressed
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { say, threadRow } from "./lib/acts.mjs";
import { context, enter, launch } from "./lib/browser.mjs";
import { root, Stage } from "./lib/stage.mjs";

const rounds = Math.max(5, Number(process.argv[2] ?? 5));
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

const stage = new Stage(), browser = await launch();
try {
  const frames = [], small = [], large = [];
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
  console.log(`medians of ${rounds} interleaved rounds`);
} finally {
  await browser.close();
  await stage.close();
}
