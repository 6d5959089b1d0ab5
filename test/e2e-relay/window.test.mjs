// A long transcript: few of its rows are in the document, and where the reader is stays where it is, whatever comes before or after.
import assert from "node:assert/strict";
import { say, threadRow, until } from "./lib/acts.mjs";
import { prepare, scene } from "./lib/scene.mjs";

prepare();

const articles = (page) => page.locator("[role=feed] article").count();

/** Waits until nothing moves any more: what is drawn was measured, and is where it was two frames ago. */
const still = (page) => page.waitForFunction(() => new Promise((done) => {
  const at = () => JSON.stringify([...document.querySelectorAll("[role=feed] article")].map((a) => [a.dataset.row, a.getBoundingClientRect().top]));
  const was = at();
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(at() === was && !document.querySelector("[role=feed] .md.plain") && !/^(Reading|Loading)/.test(document.querySelector(".older")?.textContent ?? "")))));
}));

/** Where rows are, in px from the upper edge of the window; rows that are not in the document are null. */
const tops = (page, rows) => page.evaluate((rows) => rows.map((r) => document.querySelector(`article[data-row="${r}"]`)?.getBoundingClientRect().top ?? null), rows);

/** The rows on the screen. */
const seen = (page) => page.evaluate(() => {
  const box = document.querySelector("#transcript").getBoundingClientRect();
  return [...document.querySelectorAll("[role=feed] article")].filter((a) => { const r = a.getBoundingClientRect(); return r.bottom > box.top && r.top < box.bottom; }).map((a) => a.dataset.row);
});

/** Requires that rows are where they were, to a pixel that rounding may take. */
function same(now, was, what) {
  assert.deepEqual(now.map((y, i) => (y !== null && Math.abs(y - was[i]) <= 1 ? was[i] : y)), was, what);
}

/** How much of the transcript is below the screen, in px. */
const below = (page) => page.evaluate(() => { const t = document.querySelector("#transcript"); return t.scrollHeight - t.clientHeight - t.scrollTop; });

/** Scrolls by px as a wheel does, and waits until the page has drawn it. */
async function wheel(page, px) {
  await page.locator("#transcript").hover();
  const before = await page.evaluate(() => document.querySelector("#transcript").scrollTop);
  await page.mouse.wheel(0, px);
  await page.waitForFunction((before) => document.querySelector("#transcript").scrollTop !== before, before);
  await still(page);
}

const loaded = (page) => page.evaluate(() => Number(/^\d+/.exec(document.querySelector(".older .muted")?.textContent ?? "")?.[0] ?? 0));

scene("a thousand items: few are in the document, and what is read stays where it is while older ones come before it", { scripts: ["thousand"], patient: true }, async ({ page }) => {
  await threadRow(page, "A long thread").click();
  await page.locator("[role=feed]", { hasText: "Answer 499" }).waitFor();
  await still(page);
  assert.equal(await below(page), 0, "a thread is opened at its end");
  const most = [await articles(page)];
  // A jump to the beginning of what is there; what the worker has before that comes by itself, and then nothing is before the rows but a button.
  for (let n = 100; n <= 1000; n += 100) {
    do {
      await page.evaluate(() => { document.querySelector("#transcript").scrollTop = 0; });
      await still(page);
      assert.ok((await seen(page)).length >= 3, "rows are where the reader is");
    } while (await page.evaluate(() => document.querySelector("#transcript").scrollTop) > 0);
    if (n === 1000) break;
    assert.equal(await loaded(page), n);
    const rows = await seen(page), was = await tops(page, rows);
    await page.locator("#older").click();
    await page.waitForFunction((n) => Number.parseInt(document.querySelector(".older .muted")?.textContent ?? "1000") === n, n + 100);
    await still(page);
    same(await tops(page, rows), was, `${n + 100} items`);
    most.push(await articles(page));
  }
  // Now all is there: at the end, in the middle and at the beginning.
  for (const part of [1, 0.5, 0]) {
    await page.evaluate((part) => { const t = document.querySelector("#transcript"); t.scrollTop = part * (t.scrollHeight - t.clientHeight); }, part);
    await still(page);
    assert.ok((await seen(page)).length >= 3, `rows are where the reader is, at ${part}`);
    most.push(await articles(page));
  }
  assert.deepEqual(await seen(page).then((l) => l.slice(0, 2)), ["u0/q0", "u0/a0"], "the beginning");
  assert.deepEqual(await page.locator('article[data-row="u0/a0"]').evaluate((a) => [a.getAttribute("aria-posinset"), a.getAttribute("aria-setsize")]), ["2", "1000"], "what a screen reader is told");
  assert.ok(Math.min(...most) >= 3 && Math.max(...most) <= 60, `articles in the document: ${most}`);
});

scene("scrolling over rows whose heights were guessed moves what is read by as much as was scrolled", { scripts: ["thousand"], patient: true }, async ({ page }) => {
  await threadRow(page, "A long thread").click();
  await page.locator("[role=feed]", { hasText: "Answer 499" }).waitFor();
  await still(page);
  for (let i = 0; i < 8; i++) {
    const rows = await seen(page), was = await tops(page, rows);
    await wheel(page, -300);
    same((await tops(page, rows.slice(0, 1))), [was[0] + 300], `step ${i}: ${rows[0]}`);
  }
});

scene("while an answer is written, who reads at the end follows it, and who reads elsewhere stays; To the end leads there", { scripts: ["written"], patient: true }, async ({ w, page }) => {
  await threadRow(page, "A long thread").click();
  await page.getByRole("button", { name: /^join/i }).first().click();
  await page.waitForFunction(() => !document.querySelector(".composer .join") && document.querySelector("textarea#composer"));
  await w.do("release", "joined");
  await say(page, "go on");
  const written = page.locator('article[data-row="u/m"]'), last = (part) => `Line 39 of part ${part}.`, toEnd = page.getByRole("button", { name: "To the end" });
  const arrived = async (part) => { await written.filter({ hasText: last(part) }).waitFor(); await still(page); };
  const follows = async (part) => {
    await arrived(part);
    assert.ok(await below(page) <= 1, `${await below(page)} px are below part ${part}`);
    assert.equal(await written.getByText(last(part)).isVisible(), true);
    assert.equal(await toEnd.count(), 0);
  };
  await follows(0);
  await w.do("release", "part 0");
  await follows(1);
  // Up, so far that the answer is off the screen.
  while ((await seen(page)).includes("u/m")) await wheel(page, -800);
  const rows = await seen(page), was = await tops(page, rows);
  await w.do("release", "part 1");
  await arrived(2);
  same(await tops(page, rows), was, "what is read while an answer is written");
  // Into the answer itself.
  await toEnd.click();
  await follows(2);
  await wheel(page, -200);
  const line = written.getByText("Line 30 of part 2."), y = async () => Math.round((await line.boundingBox()).y), at = await y();
  await w.do("release", "part 2");
  await arrived(3);
  assert.ok(Math.abs(await y() - at) <= 1, "the line that is read, in the answer that is written");
  await toEnd.click();
  await follows(3);
  await w.do("release", "part 3");
  await until("the end", async () => (await page.locator(".composer button[aria-keyshortcuts='Control+.']").count()) === 0);
  await follows(3);
});
