// What a reader sees before the page's own code is there.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { clean, context, launch } from "./lib/browser.mjs";
import { Stage } from "./lib/stage.mjs";

let stage, browser;
before(async () => {
  stage = new Stage();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await stage?.close();
});

// proves R-UI-02
test("what a reader chose holds from the first frame on", async () => {
  const w = await stage.open({ scripts: ["empty"] }), c = await context(browser, { theme: "light", language: "en" });
  c.origins = [w.origin];
  await c.addInitScript(() => { if (location.protocol === "http:") localStorage.setItem("relaycodex.settings", JSON.stringify({ theme: "dark", language: "ja" })); });
  const page = await c.newPage();
  let release;
  const held = new Promise((r) => { release = r; });
  await page.route("**/page.js", async (route) => { await held; await route.continue(); });
  await page.goto(w.address);
  const shown = () => page.evaluate(() => ({ scheme: getComputedStyle(document.documentElement).colorScheme, language: document.documentElement.lang, app: document.querySelector(".app") !== null }));
  assert.deepEqual(await shown(), { scheme: "dark", language: "ja", app: false });
  release();
  await page.locator(".app").waitFor();
  assert.deepEqual(await shown(), { scheme: "dark", language: "ja", app: true });
  clean(c);
  await c.close();
  await w.close();
});

for (const [language, words] of [["en", "could not be loaded"], ["ja", "読み込めませんでした"]]) {
  // proves R-UI-02
  test(`a page whose code cannot be had says so and names the remedy: ${language}`, async () => {
    const w = await stage.open({ scripts: ["empty"], language }), c = await context(browser, { language });
    const page = await c.newPage();
    await page.route("**/page.js", (route) => route.abort());
    await page.goto(w.address);
    const said = page.getByRole("alert");
    await said.waitFor();
    const text = await said.textContent();
    for (const part of [words, "relaycodex url", "page.not_loaded"]) assert.ok(text.includes(part), text);
    assert.equal(await page.evaluate(() => location.hash), "", "the key is gone from the address all the same");
    await c.close();
    await w.close();
  });
}

// proves R-UI-01
test("a first question that cannot be asked keeps nobody from the page", async () => {
  const w = await stage.open({ scripts: ["empty"] }), c = await context(browser);
  await c.addInitScript(() => {
    const real = History.prototype.replaceState;
    let first = true;
    History.prototype.replaceState = function (...a) {
      if (first) { first = false; throw new Error("not now"); }
      return real.apply(this, a);
    };
  });
  const page = await c.newPage();
  await page.goto(w.address);
  await page.locator("textarea#composer").waitFor();
  assert.equal(await page.evaluate(() => location.hash), "");
  assert.ok(c.wrong.some((m) => m.includes("not now")), "the control: the first script failed");
  await c.close();
  await w.close();
});
