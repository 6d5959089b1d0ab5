// Every named state of the page, in every look: axe-core finds nothing wrong in it, every "incomplete" is decided here, and a
// picture is taken for docs/screenshots. A page with planted mistakes must fail.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { request, say, threadRow } from "./lib/acts.mjs";
import { clean, context, enter, launch, looks } from "./lib/browser.mjs";
import { Stage } from "./lib/stage.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const clock = Date.UTC(2026, 10, 30, 18, 30, 0); // the scripted server's turns are of this day
const shots = process.env.E2E_SHOTS_DIR; // run.mjs --screenshots sets it

const hello = (page) => say(page, "Please look at the build");
const card = (script) => ({ scripts: [script], act: async (page) => { await hello(page); await request(page); } });

/** How each state is reached. */
const states = {
  "no-codex": { noCodex: true, act: (page) => page.locator("#page, .sheet").first().waitFor() },
  empty: { scripts: ["empty"], act: (page) => page.locator("textarea#composer").waitFor() },
  connecting: { scripts: ["empty"], offline: true, act: (page) => page.locator(".conn").waitFor() },
  chat: { scripts: ["text"], act: async (page) => { await hello(page); await page.locator("[role=feed] .md ol").waitFor(); } },
  streaming: { scripts: ["streaming"], act: async (page) => { await hello(page); await page.locator("[role=feed]", { hasText: "second one still" }).waitFor(); } },
  command: card("command"), file: card("file"), permissions: card("permissions"), question: card("question"), form: card("form"), tool: card("tool"), bidi: card("bidi"), long: card("long"),
  three: { scripts: ["cards"], act: async (page) => { await hello(page); await request(page, 3); } },
  waits: { scripts: ["waits"], act: async (page, narrow) => { await open(page, narrow, "A thread that waits"); await page.locator(".banner").waitFor(); } },
  lost: { scripts: ["cut", "again"], act: async (page, narrow, w) => { await hello(page); await request(page); await w.do("release", "cut"); await page.waitForFunction(() => !document.querySelector("#needs")); } },
  refused: { scripts: ["text"], act: async (page, narrow, w) => { await hello(page); await page.locator("[role=feed] .md ol").waitFor(); await w.do("stop"); await w.do("again"); await page.locator(".admit").first().waitFor(); } },
  thousand: { scripts: ["thousand"], act: async (page, narrow) => { await open(page, narrow, "A long thread"); await page.locator("[role=feed] article").first().waitFor(); } },
  help: { scripts: ["empty"], act: async (page) => { await page.locator("textarea#composer").waitFor(); await page.locator(".bar-actions button").last().click(); await page.locator("dialog[open]").waitFor(); } },
  settings: { scripts: ["empty"], act: async (page) => { await page.locator("textarea#composer").waitFor(); await page.locator(".bar-actions button").nth(-2).click(); await page.locator("dialog[open]").waitFor(); } },
  search: { scripts: ["text"], act: async (page) => { await hello(page); await page.locator("[role=feed] .md ol").waitFor(); await page.keyboard.press("Control+k"); await page.locator("dialog[open]").waitFor(); } },
};

async function open(page, narrow, title) {
  if (narrow) await page.locator(".bar .only-narrow").first().click();
  await threadRow(page, title).click();
}

/** What axe could not decide, and why it is right. Anything else that it could not decide fails. */
const decided = [
  { id: "color-contrast", why: "text over the page's own flat grounds, whose pairs are all computed at 5.5:1 or more in tokens.css; axe sees overlapping layers (the dialog's backdrop, a clipped scroller) or forced system colours" },
  { id: "aria-valid-attr-value", why: "aria-controls names the body of a folded card, which is hidden and there" },
  { id: "aria-allowed-role", why: "role=link on the inert links of a model: they have no address by design, and open a dialog that shows it" },
  { id: "scrollable-region-focusable", why: "the feed's items are tab stops in the scrolling region" },
];

async function judge(page) {
  await page.evaluate(axe); // as a debugger: the page's policy does not let it in otherwise
  return page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations", "incomplete"], runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] } }).then((r) => ({
    violations: r.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + n.html.slice(0, 160)).join(" | ")}`),
    incomplete: r.incomplete.map((v) => ({ id: v.id, at: v.nodes.slice(0, 3).map((n) => n.target.join(" ") + ": " + (n.any[0]?.message ?? n.all[0]?.message ?? n.none[0]?.message)) })),
    passes: r.passes.length,
  })));
}

/** Each theme, width and language is in the pictures of each state, without all of their combinations: below 8 MB in all. */
const pictures = ["light-wide-en", "dark-wide-ja", "forced-wide-en", "light-narrow-ja"];

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
for (const [name, s] of Object.entries(states)) {
  if (wanted && !wanted.includes(name)) continue;
  // proves R-UI-02, R-REL-04
  test(`${name}: no finding in any look`, async (t) => {
    const problems = [], undecided = new Map();
    let least = Infinity;
    for (const language of looks.languages) {
      for (const width of Object.keys(looks.widths)) {
        const w = await stage.open({ ...s, act: undefined, language, clock });
        // One world for the three themes: what is on the page stays, only its look changes.
        const c = await context(browser, { width, language, clock, motion: "reduce" });
        const page = await enter(c, w);
        try {
          await s.act(page, width === "narrow", w);
          for (const theme of looks.themes) {
            await page.emulateMedia({ colorScheme: theme === "dark" ? "dark" : "light", forcedColors: theme === "forced" ? "active" : "none" });
            await page.waitForTimeout(100);
            const look = `${name}-${theme}-${width}-${language}`;
            assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1), false, `${look}: the page scrolls sideways`);
            const r = await judge(page);
            least = Math.min(least, r.passes);
            problems.push(...r.violations.map((v) => `${look}: ${v}`));
            for (const i of r.incomplete) {
              const d = decided.find((x) => x.id === i.id);
              if (d) undecided.set(i.id, d.why);
              else problems.push(`${look}: undecided ${i.id} at ${i.at.join(" | ")}`);
            }
            if (shots && pictures.includes(`${theme}-${width}-${language}`)) {
              await page.screenshot({ path: join(shots, look + ".png"), animations: "disabled", caret: "hide" });
            }
          }
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
    for (const [id, why] of undecided) t.diagnostic(`decided ${id}: ${why}`);
    assert.deepEqual([...new Set(problems)], []);
    assert.ok(least > 20, `only ${least} rules passed`);
    t.diagnostic(`${least} rules passed in every look`);
  });
}

// proves R-REL-04
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
  await c.close();
  await w.close();
});

