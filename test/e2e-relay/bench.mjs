// Figures of the page, as ratios within one run: node bench.mjs [ROUNDS] [--opening | --frames]. Each is the median of at least five interleaved rounds.
//
//   frames      p95 of the time between frames while the real codex streams about 1,000 deltas a second into a thread of 1,000
//               items of 1 KiB, over the same in a bare page with an equal document whose last text grows alike
//   first paint from the click on a thread of 1,000 items (1 KiB each, and 16 MiB in all) until its newest item was painted
//   opening     one thread of 1,000 real items (500 turns) of one real app-server, with a fresh worker that is connected and has not read
//               it: until the newest item was painted, from the navigation to an address that names the thread, or to the plain
//               address, where the row of the list is used at once, or from the click on that row in a page that is there; over
//               the time from the start of "codex resume --remote" in a terminal until the newest item was written to the
//               terminal (what painting costs a terminal is not counted). The browser is there, with an empty tab, and has shown
//               other pages before, as a person's has (in a profile that never had one, Chromium starts a process first); nothing
//               of this worker's page is kept in it, and nobody but the watching script is in the page; before each, both sides
//               had a moment of rest
//   bundle      what the page loads, compressed
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { say, threadRow, until } from "./lib/acts.mjs";
import { Bare } from "./lib/bare.mjs";
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

/** Runs in the page: tells when the newest item of the made thread was painted, and uses a row of the list when it is told to. */
const watching = (row) => {
  const look = () => {
    const a = row ? document.querySelector(".tlist a:not([aria-current])") : undefined;
    if (a && !globalThis.used) {
      globalThis.used = true;
      a.click();
    }
    if (document.querySelector("[role=feed]")?.textContent.includes("unknown scenario last")) requestAnimationFrame(() => setTimeout(() => { globalThis.painted = performance.now(); tell("painted"); }));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
};

const onScreen = () => { const a = [...document.querySelectorAll("[role=feed] article")].at(-1).getBoundingClientRect(); return a.height > 0 && a.top < innerHeight && a.bottom > 0; };

/** What ended before is over, and what was begun is there: a process that ends or starts is not part of what is measured. */
const rest = () => new Promise((r) => setTimeout(r, 500));

async function painted(tab) {
  if (!(await Promise.race([tab.told, new Promise((r) => setTimeout(r, 60_000))]))) throw new Error("the thread did not come");
  if (!(await tab.run(`(${onScreen})()`))) throw new Error("the newest item is not on the screen");
  return tab.run("painted");
}

/** A fresh worker that is connected and has read its list. Nothing of the thread is read. */
async function renewed(w) {
  const before = (await w.do("wire")).length;
  w.address = await w.do("restart");
  await until("the connection", async () => {
    const wire = (await w.do("wire")).slice(before), ask = wire.find((f) => f.sent && f.method === "thread/list");
    return ask && wire.some((f) => !f.sent && f.id === ask.id && f.result !== undefined);
  });
}

/** Milliseconds from the navigation until the newest item was painted: of an address that names the thread, or by its row in the list. */
async function opening(bare, w, by) {
  await renewed(w);
  const tab = await bare.tab(`(${watching})(${by === "row"})`), thread = await w.do("thread");
  await rest();
  await tab.go(by === "row" ? w.address : w.address + "&thread=" + thread);
  const took = await painted(tab);
  await tab.close();
  return took;
}

/** Milliseconds from the click on the thread's row in a page that is there, of a worker that has not read the thread, until the newest item was painted. */
async function clicking(bare, w) {
  await renewed(w);
  const tab = await bare.tab();
  await tab.go(w.address);
  await until("the list", () => tab.run('document.querySelector(".tlist a") !== null'));
  await rest(); // what is read in time is read
  await tab.run(`(${watching})(false)`);
  const began = await tab.run('(() => { const now = performance.now(); document.querySelector(".tlist a").click(); return now; })()');
  const took = (await painted(tab)) - began;
  await tab.close();
  return took;
}

/** Milliseconds until a terminal shows it. */
async function terminalOpens(w) {
  await rest();
  return (await w.do("terminal")).ms;
}

const stage = new Stage(), open = [];
/** A browser for one part of the figures: none is there while the other one is watched. */
const browserOf = (b) => { open.push(b); return b; };
try {
  const frames = [], small = [], large = [];
  if (!process.argv.includes("--frames")) {
    const real = await stage.open({ remote: true, turns: 500 }), bare = browserOf(new Bare());
    const sides = {
      "address of the thread in a new tab": () => opening(bare, real, "address"),
      "codex resume --remote": () => terminalOpens(real),
      "row of the list in a new tab": () => opening(bare, real, "row"),
      "row of the list in a tab that is there": () => clicking(bare, real),
    };
    const took = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
    for (let i = 0; i <= rounds; i++) { // the server reads the thread for the first time in a round that does not count
      const order = Object.entries(sides);
      if (i % 2) order.reverse();
      for (const [name, one] of order) {
        const ms = await one();
        if (i > 0) took[name].push(ms);
      }
    }
    await open.pop().close();
    await real.close();
    const peer = median(took["codex resume --remote"]);
    for (const [name, list] of Object.entries(took)) {
      const ratio = median(list) / peer;
      console.log(`opening a thread of 1,000 items: ${name}: ${median(list).toFixed(0)} ms (${list.map(Math.round)}): ${ratio.toFixed(2)}${name.includes("address") ? ` (goal 0.5, ${ratio <= 0.5 ? "met" : "missed"})` : ""}`);
    }
  }
  if (!process.argv.includes("--opening")) {
    const browser = browserOf(await launch());
    for (let i = 0; i < rounds; i++) {
      frames.push(await streaming(stage, browser));
      small.push(await paint(stage, browser, "thousand"));
      large.push(await paint(stage, browser, "large"));
    }
    const dist = join(root, "internal/relay/web/dist"), read = (f) => readFileSync(join(dist, f));
    const all = readdirSync(dist).filter((f) => f !== "LICENSES.txt"), first = ["index.html", "icon.svg", "page.css", ...read("index.html").toString().match(/data-first="([^"]+)"/)[1].replaceAll("/assets/", "").split(" ")];
    const sum = (names, f) => (names.reduce((n, name) => n + f(read(name)).length, 0) / 1024).toFixed(0);
    const sizes = (names) => `${sum(names, brotliCompressSync)} KiB brotli, ${sum(names, (d) => gzipSync(d, { level: 9 }))} KiB gzip`;
    console.log(`frames while streaming: p95 ${median(frames.map((f) => f.ours)).toFixed(1)} ms, ${median(frames.map((f) => f.ours / f.theirs)).toFixed(2)} × a bare page (goal 1.2)`);
    console.log(`first paint of 1,000 items: ${median(small).toFixed(0)} ms; of 16 MiB: ${median(large).toFixed(0)} ms`);
    console.log(`bundle: to start and use ${sizes(first)} (goal 150); everything ${sizes(all)}`);
  }
  console.log(`medians of ${rounds} interleaved rounds`);
} finally {
  for (const b of open) await b.close();
  await stage.close();
}
