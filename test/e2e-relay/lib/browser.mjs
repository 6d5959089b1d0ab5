// A real Chromium in front of a world. Whatever a page asks for elsewhere than at its own worker, whatever its content policy
// has to refuse and whatever fails in it unexpectedly is kept and fails the test.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

/** Where the tests' browser is; run.mjs installs Debian's when there is none. */
export const executable = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** No service of the browser itself talks to anybody, and no name leads anywhere but to this machine. */
export const switches = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-features=Translate,OptimizationHints,MediaRouter",
  "--host-resolver-rules=MAP * 127.0.0.1, EXCLUDE 127.0.0.1", "--force-color-profile=srgb", "--font-render-hinting=none"];

export async function launch(...args) {
  return chromium.launch({ executablePath: executable, headless: true, args: [...switches, ...args] });
}

export const looks = {
  themes: ["light", "dark", "forced"],
  widths: { wide: { width: 1440, height: 900 }, narrow: { width: 320, height: 720 }, mid: { width: 1000, height: 720 }, low: { width: 320, height: 256 } },
  languages: ["en", "ja"],
};

/** A context that looks in one way, with what it saw going wrong. patient: Markdown may take however long a busy machine needs. */
export async function context(browser, { theme = "light", width = "wide", language = "en", motion = "no-preference", clock, patient, ...more } = {}) {
  const c = await browser.newContext({
    viewport: looks.widths[width], locale: language === "ja" ? "ja-JP" : "en-GB", timezoneId: "UTC", colorScheme: theme === "dark" ? "dark" : "light",
    forcedColors: theme === "forced" ? "active" : "none", reducedMotion: motion, ...more,
  });
  c.setDefaultTimeout(Number(process.env.E2E_PATIENCE ?? 30_000));
  c.foreign = [];
  c.wrong = [];
  c.on("request", (r) => {
    const url = new URL(r.url());
    if (!["blob:", "data:"].includes(url.protocol) && !c.origins?.includes(url.origin)) c.foreign.push(r.url());
  });
  c.on("weberror", (e) => c.wrong.push("error: " + e.error().message));
  c.on("console", (m) => { if (m.type() === "error" && !/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|status of 401|ERR_INCOMPLETE_CHUNKED|net::ERR/.test(m.text())) c.wrong.push("console: " + m.text()); });
  if (patient) {
    await c.addInitScript(() => {
      const real = setTimeout;
      globalThis.setTimeout = (f, ms, ...a) => (ms === 1500 ? 0 : real(f, ms, ...a)); // markdown/limits.ts: ms
    });
  }
  if (clock) {
    await c.addInitScript((fixed) => {
      const Real = Date;
      const now = () => fixed + Math.floor(performance.now());
      globalThis.Date = class extends Real {
        constructor(...a) { if (a.length === 0) super(now()); else super(...a); }
        static now() { return now(); }
      };
    }, clock);
  }
  return c;
}

/** Opens the page of a world and waits until it is there. */
export async function enter(c, world, address = world.address) {
  c.origins = [...(c.origins ?? []), world.origin];
  const page = await c.newPage();
  await page.goto(address);
  await page.waitForFunction(() => location.hash === "");
  return page;
}

/** Requires that nothing was asked of anybody else and nothing failed. */
export function clean(c) {
  assert.deepEqual(c.foreign, [], "third-party requests");
  assert.deepEqual(c.wrong, [], "errors in the page");
}
