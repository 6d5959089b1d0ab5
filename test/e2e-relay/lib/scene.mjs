// Scenarios with the scripted server: each has a world and a page of its own, and at its end nothing went wrong in the page.
import { after, before, test } from "node:test";
import { clean, context, enter, launch } from "./browser.mjs";
import { Stage } from "./stage.mjs";

let stage, browser;

/** What the scenarios of a file share. */
export const shared = { get browser() { return browser; } };

/** The parts that the scenarios of a file share; called once, by the file. */
export function prepare() {
  before(async () => { stage = new Stage(); browser = await launch(); });
  after(async () => { await browser?.close(); await stage?.close(); });
}

/** One scenario; options are those of a world and of a context, and init runs in its pages before anything else. E2E_SHOTS names a directory for pictures of pages that failed. */
export function scene(name, { init, ...options }, f) {
  test(name, async () => {
    const w = await stage.open(options), c = await context(browser, options);
    if (init) await c.addInitScript(init);
    const page = await enter(c, w);
    try {
      await f({ w, c, page });
      clean(c);
    } catch (e) {
      if (process.env.E2E_SHOTS) await page.screenshot({ path: `${process.env.E2E_SHOTS}/${name.replace(/\W+/g, "-").slice(0, 60)}.png` }).catch(() => {});
      throw e;
    } finally {
      await c.close();
      await w.close().catch(() => {}); // a script that was left before its end
    }
  });
}
