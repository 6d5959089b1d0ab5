// Every named state of the page, in every look: axe-core finds nothing wrong in it, every "incomplete" is decided here, and a
// picture is taken for docs/screenshots. A page with planted mistakes must fail.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { request, say, threadRow } from "./lib/acts.mjs";
import { clean, context, enter, launch, looks } from "./lib/browser.mjs";
import { Stage } from "./lib/stage.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const clock = Date.UTC(2026, 10, 30, 18, 30, 0); // the scripted server's turns are of this day
const shots = process.env.E2E_SHOTS_DIR; // make e2e-relay sets it

const hello = (page) => say(page, "Please look at the build");
const card = (script) => ({ scripts: [script], act: async (page) => { await hello(page); await request(page); } });

/** How each state is reached. */
const states = {
  "no-codex": { noCodex: true, act: (page) => page.locator("#page, .sheet").first().waitFor() },
  empty: { scripts: ["empty"], act: (page) => page.locator("textarea#composer").waitFor() },
  offline: { scripts: ["empty"], offline: true, act: (page) => page.locator(".banner").waitFor() },
  chat: { scripts: ["text"], act: async (page) => { await hello(page); await page.locator("[role=feed] .md ol").waitFor(); } },
  streaming: { scripts: ["streaming"], act: async (page) => { await hello(page); await page.locator("[role=feed]", { hasText: "second one still" }).waitFor(); } },
  command: card("command"), file: card("file"), permissions: card("permissions"), question: card("question"), form: card("form"), tool: card("tool"), bidi: card("bidi"), long: card("long"),
  three: { scripts: ["cards"], act: async (page) => { await hello(page); await request(page, 3); } },
  waits: { scripts: ["waits"], act: async (page, narrow) => { await open(page, narrow, "A thread that waits"); await page.locator(".banner").waitFor(); } },
  lost: { scripts: ["cut", "again"], act: async (page, narrow, w) => { await hello(page); await request(page); await w.do("release", "cut"); await page.waitForFunction(() => !document.querySelector("#needs")); } },
  refused: { scripts: ["text"], act: async (page, narrow, w) => { await hello(page); await page.locator("[role=feed] .md ol").waitFor(); await w.do("stop"); await w.do("again"); await page.locator(".admit").first().waitFor(); } },
  thousand: { scripts: ["thousand"], act: async (page, narrow) => { await open(page, narrow, "A long thread"); await page.locator("[role=feed] article").first().waitFor(); await page.waitForFunction(() => document.querySelector("[role=feed] .md") && !document.querySelector("[role=feed] .md.plain")); } },
  help: { scripts: ["empty"], act: async (page) => { await page.locator("textarea#composer").waitFor(); await page.locator(".bar-actions button").last().click(); await page.locator("dialog[open]").waitFor(); } },
  settings: { scripts: ["empty"], act: async (page) => { await page.locator("textarea#composer").waitFor(); await page.locator(".bar-actions button").nth(-2).click(); await page.locator("dialog[open]").waitFor(); } },
  plain: { scripts: ["text"], act: async (page, narrow) => { await hello(page); await page.locator("[role=feed] .md ol").waitFor(); await plain(page, narrow); } },
  connection: { scripts: ["text"], act: async (page) => { await hello(page); await page.locator("[role=feed] .md ol").waitFor(); await page.locator(".bar .conn").first().click(); await page.locator("dialog[open]").waitFor(); } },
  work: { scripts: ["work"], act: async (page) => { await hello(page); await page.locator("[role=feed] .md code").last().waitFor(); } },
  failed: { scripts: ["failing"], act: async (page) => { await hello(page); await page.locator("[role=feed] .note.bad").waitFor(); } },
  complaints: { scripts: ["complaints"], act: async (page) => { await hello(page); await page.locator("[role=feed] .md p").last().waitFor(); } },
  uncertain: { scripts: ["uncertain"], act: async (page) => { await hello(page); await page.locator("article.uncertain").waitFor(); } },
  tabs: { scripts: ["empty"], act: async (page, narrow, w, c) => {
    const other = await enter(c, w, await w.fresh()), box = (p) => p.locator("textarea#composer");
    await box(page).fill("Add a test for the case that failed yesterday, and");
    await other.waitForFunction(() => document.querySelector("textarea#composer")?.value !== "");
    await page.route("**/api/command", (r) => r.abort());
    await box(page).fill("Add a test for the case that failed yesterday, and run it ten times.");
    await box(other).fill("Add a test for the parser.");
    await page.locator(".draft").waitFor();
    await page.unroute("**/api/command");
    await other.close();
  } },
  search: { scripts: ["text"], act: async (page) => { await hello(page); await page.locator("[role=feed] .md ol").waitFor(); await page.keyboard.press("Control+k"); await page.locator("dialog[open]").waitFor(); } },
};

/** States that are passed through, or seldom seen: judged in every look, with fewer pictures. */
const seldom = {
  connecting: { scripts: ["empty"], stuck: true, act: (page) => page.locator(".conn .spin").waitFor() },
  models: { scripts: ["models"], act: async (page) => { await page.locator(".composer .pick").last().waitFor(); } },
  restart: { scripts: ["streaming"], least: 16, act: async (page) => { await hello(page); await page.locator("[role=feed]", { hasText: "second one still" }).waitFor(); await page.locator(".bar .conn").first().click(); await page.locator("dialog[open] .row.end button").last().click(); await page.locator("dialog[open] .btn.danger").waitFor(); } },
  disabled: { scripts: ["empty"], far: true, off: true, offline: true, act: (page) => page.locator(".banner").waitFor() },
  profiles: { scripts: ["empty"], second: true, act: async (page) => { await page.locator("textarea#composer").waitFor(); await page.locator(".bar .profile").click(); await page.locator("dialog[open] .plist").waitFor(); } },
  remote: { scripts: ["empty"], far: true, act: (page) => page.locator(".conn .attn").waitFor() },
  leaving: { scripts: ["text"], act: async (page) => { await hello(page); await page.locator("[role=feed] .md a").first().click(); await page.locator("dialog[open] .facts").waitFor(); } },
  unreadable: { scripts: ["unreadable"], act: async (page, narrow) => { await open(page, narrow, "A thread of another time"); await page.locator(".note.bad").waitFor(); } },
  gone: { scripts: ["text"], act: async (page, narrow, w) => { await hello(page); await page.locator("[role=feed] .md ol").waitFor(); await w.do("stop"); await page.locator(".banner").waitFor(); } },
  mismatch: { scripts: ["text"], complains: /status of 409/, act: async (page, narrow, w) => {
    await hello(page);
    await page.locator("[role=feed] .md ol").waitFor();
    await page.route("**/api/**", (r) => r.fulfill(another));
    await w.do("stop");
    await page.locator(".banner.bad").waitFor();
  } },
  // What a tab shows that was never let in, whose worker is another one, or that has no worker.
  stranger: { scripts: ["empty"], address: (w) => w.origin, act: (page) => page.locator(".sheet .admit").waitFor() },
  another: { scripts: ["empty"], complains: /status of 409/, api: (r) => r.fulfill(another), act: (page) => page.locator(".sheet .btn").first().waitFor() },
  nobody: { scripts: ["empty"], api: (r) => r.abort(), act: (page) => page.locator(".sheet h1").waitFor() },
  // Panels that are dialogs in a narrow window, and the window between.
  threads: { scripts: ["thousand"], widths: ["narrow", "mid"], act: async (page, narrow) => { if (narrow) { await page.locator(".bar .only-narrow").first().click(); await page.locator("dialog[open] .tlist a").waitFor(); } else await page.locator(".tlist a").first().waitFor(); } },
  details: { scripts: ["work"], widths: ["narrow", "mid"], act: async (page) => { await hello(page); await page.locator("[role=feed] .md code").last().waitFor(); await page.locator(".thread-h .only-mid").click(); await page.locator(".details, dialog[open]").first().waitFor(); } },
  // A low window: 400 % zoom, a split screen, a keyboard on the screen.
  low: { scripts: ["cards"], widths: ["low"], act: async (page) => { await hello(page); await request(page, 3); } },
};

/** What a worker of another version answers. */
const another = { status: 409, contentType: "application/json", body: JSON.stringify({ version: 1_000_000, problem: { code: "relay.endpoint", variant: "version", text: "another version" } }) };

async function plain(page, narrow) {
  if (narrow) await page.locator(".thread-h .only-mid").click();
  await (narrow ? page.locator(".drawer .side-p button") : page.locator(".thread-h .wide-only")).click();
  await page.locator("dialog[open]:not(.drawer)", { hasText: "internal/relay/web/guard.go" }).waitFor();
}

async function open(page, narrow, title) {
  if (narrow) await page.locator(".bar .only-narrow").first().click();
  await threadRow(page, title).click();
}

/**
 * What axe could not decide is decided here, element by element: what it asks about is measured, and the reason why it could not
 * tell has to be true of that element. An element, rule or reason that is not here fails.
 */
function decide(rule, target, key) {
  const el = document.querySelector(target);
  if (!el) return { problem: "the element is not there" };
  if (rule !== "color-contrast") return { problem: "nothing decides this rule" };
  const rgba = (text) => {
    const c = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    c.fillStyle = text;
    c.fillRect(0, 0, 1, 1);
    return [...c.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => { const v = c[i] / 255; return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); }, 0);
  // The ground is the first opaque one below the text; the page has flat grounds only.
  let ground, dialog = document.querySelector("dialog[open]"), clipped = false;
  const box = el.getBoundingClientRect();
  for (let at = el; at; at = at.parentElement) {
    const style = getComputedStyle(at), c = rgba(style.backgroundColor);
    if (style.opacity !== "1") return { problem: "it is translucent" };
    if (!ground && style.backgroundImage !== "none") return { problem: "its ground is a picture" };
    if (!ground && c[3] === 255) ground = c;
    else if (!ground && c[3] !== 0) return { problem: "its ground is translucent" };
    if (at !== el && style.overflow !== "visible") {
      const seen = at.getBoundingClientRect();
      clipped ||= box.top < seen.top || box.bottom > seen.bottom || box.left < seen.left || box.right > seen.right;
    }
  }
  if (!ground) return { problem: "it has no ground" };
  const ink = rgba(getComputedStyle(el).color), [x, y] = [light(ink), light(ground)].sort((p, q) => q - p), ratio = (x + 0.05) / (y + 0.05);
  const behind = dialog !== null && !dialog.contains(el);
  const why = behind ? "it is behind an open dialog" : clipped ? "it is scrolled partly out of sight" : key === "elmPartiallyObscuring" && getComputedStyle(el).display === "inline" ? "lines of running text, whose boxes are higher than the line" : key === "nonBmp" && el.matches("kbd") ? "the symbol that is printed on a key" : undefined;
  if (!why) return { problem: `no reason is known for ${key}` };
  return ratio < 4.5 ? { problem: `its contrast is ${ratio.toFixed(2)}` } : { why, ratio };
}

async function judge(page) {
  await page.evaluate(axe); // as a debugger: the page's policy does not let it in otherwise
  const r = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations", "incomplete"], runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] } }).then((r) => ({
    violations: r.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + n.html.slice(0, 160)).join(" | ")}`),
    incomplete: r.incomplete.flatMap((v) => v.nodes.map((n) => { const c = n.any[0] ?? n.all[0] ?? n.none[0]; return { id: v.id, target: n.target.join(" "), key: c?.data?.messageKey ?? "", message: c?.message ?? "", html: n.html.slice(0, 160) }; })),
    passes: r.passes.length,
  })));
  for (const i of r.incomplete) i.decided = await page.evaluate(`(${decide})(${JSON.stringify(i.id)}, ${JSON.stringify(i.target)}, ${JSON.stringify(i.key)})`);
  return r;
}

/** Every look of each state that is not seldom, where a tool makes pictures small (below 12 MB in all); else each theme, width and language. */
const small = spawnSync("pngquant", ["--version"]).status === 0;
const few = ["light-wide-en", "dark-wide-ja", "forced-wide-en", "light-narrow-ja", "dark-mid-en", "light-low-en"];

async function picture(page, path) {
  const png = await page.screenshot({ animations: "disabled", caret: "hide" });
  const out = small ? spawnSync("pngquant", ["--speed", "3", "--strip", "256", "-"], { input: png, maxBuffer: 1 << 26 }) : undefined;
  writeFileSync(path, out?.status === 0 && out.stdout.length < png.length ? out.stdout : png);
}

let stage, browser;
before(async () => {
  stage = new Stage();
  browser = await launch();
  if (shots) {
    rmSync(shots, { recursive: true, force: true });
    mkdirSync(shots, { recursive: true });
  }
});
after(async () => { await browser?.close(); await stage?.close(); });

const wanted = process.env.E2E_STATES?.split(",");
for (const [name, s] of Object.entries({ ...states, ...seldom })) {
  if (wanted && !wanted.includes(name)) continue;
  // proves R-UI-02
  test(`${name}: no finding in any look`, async (t) => {
    const problems = [], decided = new Map();
    let least = Infinity;
    for (const language of looks.languages) {
      for (const width of s.widths ?? ["wide", "narrow"]) {
        const w = await stage.open({ ...s, act: undefined, api: undefined, address: undefined, widths: undefined, complains: undefined, least: undefined, language, clock });
        // One world for the three themes: what is on the page stays, only its look changes.
        const c = await context(browser, { width, language, clock, motion: "reduce" });
        if (s.api) await c.route("**/api/**", s.api);
        const page = await enter(c, w, s.address?.(w));
        try {
          await s.act(page, width === "narrow", w, c);
          for (const theme of looks.themes) {
            await page.emulateMedia({ colorScheme: theme === "dark" ? "dark" : "light", forcedColors: theme === "forced" ? "active" : "none" });
            await page.waitForTimeout(100);
            const look = `${name}-${theme}-${width}-${language}`;
            assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1), false, `${look}: the page scrolls sideways`);
            const r = await judge(page);
            least = Math.min(least, r.passes);
            problems.push(...r.violations.map((v) => `${look}: ${v}`));
            for (const i of r.incomplete) {
              if (i.decided.problem) problems.push(`${look}: ${i.id} at ${i.target} ${i.html}: ${i.message} (${i.decided.problem})`);
              else decided.set(i.decided.why, [...(decided.get(i.decided.why) ?? []), i.decided.ratio]);
            }
            if (shots && ((small && name in states) || few.includes(`${theme}-${width}-${language}`))) await picture(page, join(shots, look + ".png"));
          }
          if (s.complains) c.wrong = c.wrong.filter((w) => !s.complains.test(w));
          clean(c);
        } catch (e) {
          e.message = `${name}, ${width}, ${language}: ${e.message}`;
          if (process.env.E2E_SHOTS) await page.screenshot({ path: `${process.env.E2E_SHOTS}/axe-${name}-${width}-${language}.png` }).catch(() => {});
          throw e;
        } finally {
          await c.close();
          await w.close().catch(() => {});
        }
      }
    }
    for (const [why, ratios] of decided) t.diagnostic(`decided ${ratios.length} times: ${why}; contrast ${Math.min(...ratios).toFixed(1)} or more`);
    assert.deepEqual([...new Set(problems)], []);
    assert.ok(least > (s.least ?? 20), `only ${least} rules passed`); // a small dialog that hides the rest has less to judge
    t.diagnostic(`${least} rules passed in every look`);
  });
}

// part of R-REL-04
test("a page with planted mistakes fails", async () => {
  const w = await stage.open({ scripts: ["empty"] }), c = await context(browser), page = await enter(c, w);
  await page.locator("textarea#composer").waitFor();
  assert.deepEqual((await judge(page)).violations, [], "the control");
  await page.evaluate(() => {
    const b = document.createElement("button"), i = document.createElement("input"), p = document.createElement("p");
    p.textContent = "pale";
    p.style.setProperty("color", "#ccc");
    p.style.setProperty("background", "#fff");
    document.querySelector("main").append(b, i, p);
  });
  const found = (await judge(page)).violations.map((v) => v.split(":")[0]);
  for (const id of ["button-name", "label", "color-contrast"]) assert.ok(found.includes(id), `${id} was not found: ${found}`);
  // What axe cannot tell is not waved through: pale text that is scrolled partly out of sight, and text on a picture.
  await page.evaluate(() => {
    const scroller = document.createElement("div");
    for (const [k, v] of Object.entries({ position: "fixed", inset: "0 auto auto 0", width: "200px", height: "30px", overflow: "auto", background: "#fff", "z-index": "9" })) scroller.style.setProperty(k, v);
    const pale = document.createElement("p"), picture = document.createElement("p");
    pale.id = "pale";
    picture.id = "picture";
    pale.textContent = picture.textContent = "words";
    pale.style.setProperty("color", "#ccc");
    pale.style.setProperty("line-height", "50px");
    picture.style.setProperty("background-image", "linear-gradient(#fff, #000)");
    scroller.append(pale, picture);
    document.body.append(scroller);
  });
  const judged = await page.evaluate(`[(${decide})("color-contrast", "#pale", "elmPartiallyObscured"), (${decide})("color-contrast", "#picture", "bgGradient"), (${decide})("label", "#pale", "")]`);
  assert.match(judged[0].problem, /contrast is 1\.6/);
  assert.match(judged[1].problem, /picture/);
  assert.match(judged[2].problem, /nothing decides/);
  await c.close();
  await w.close();
});

// proves R-UI-02
test("nothing moves for those who do not want it", async () => {
  const w = await stage.open({ scripts: ["empty"], stuck: true });
  for (const motion of ["no-preference", "reduce"]) {
    const c = await context(browser, { motion }), page = await enter(c, w, await w.fresh());
    await page.locator(".conn .spin").waitFor();
    await page.locator(".bar-actions button").last().click();
    await page.locator("dialog[open]").waitFor();
    const moving = await page.evaluate(() => document.getAnimations().map((a) => a.animationName ?? a.transitionProperty));
    assert.equal(moving.length > 0, motion === "no-preference", `${motion}: ${moving}`);
    await c.close();
  }
  await w.close();
});
