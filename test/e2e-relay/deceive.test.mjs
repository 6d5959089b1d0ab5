// A server that wants a person to approve what was not read, and everything that makes a text go elsewhere than it was meant to.
import assert from "node:assert/strict";
import { choose, fileApproval, request, say, threadRow, until } from "./lib/acts.mjs";
import { prepare, scene } from "./lib/scene.mjs";

prepare();

// proves R-INT-08
scene("what a card asks is replaced in the same shape while somebody aims: the choices are inert again", { scripts: ["swapped"] }, async ({ w, page }) => {
  await say(page, "hello");
  const card = await request(page), accept = card.locator('[data-choice="accept"]');
  await accept.and(page.locator('[aria-disabled="false"]')).waitFor();
  // A click in the moment in which the other text is there.
  const clicked = (text) => page.evaluate((text) => new Promise((done) => {
    const watch = new MutationObserver(() => {
      if (!document.querySelector("#needs")?.textContent.includes(text)) return;
      watch.disconnect();
      setTimeout(() => { document.querySelector('#needs [data-choice="accept"]')?.click(); done(true); }, 150);
    });
    watch.observe(document.body, { childList: true, subtree: true, characterData: true });
  }), text);
  for (const [gate, text] of [["first", "hullo"], ["second", "h4cks"]]) {
    await accept.scrollIntoViewIfNeeded();
    await page.waitForTimeout(1200);
    const at = clicked(text);
    await page.waitForTimeout(100);
    await w.do("release", gate);
    await at;
    await page.waitForTimeout(300);
    assert.deepEqual(await w.answers(fileApproval), [[]], `accepted ${text}, which nobody had seen`);
  }
  await choose(card, "accept"); // the control: who has seen it can accept it
  await until("the answer", async () => (await w.answers(fileApproval))[0].length === 1);
});

/** Composes without ending it, as an input method does. */
async function compose(page, text) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
  return cdp;
}

// proves R-PRI-05
scene("another owner comes while an input method composes: nothing of it gets into the new owner's message box", { scripts: ["drafts", "someone"] }, async ({ w, page }) => {
  await threadRow(page, "First thread").click();
  await page.getByRole("button", { name: /^join/i }).first().click();
  await page.waitForFunction(() => document.querySelector("textarea#composer")?.placeholder !== "" && !document.querySelector(".composer .join"));
  const box = page.locator("textarea#composer");
  await box.fill("the old owner's secret ");
  await box.focus();
  const cdp = await compose(page, "ひみ");
  await w.do("release", "cut");
  await page.locator(".banner").waitFor();
  await page.evaluate(() => document.querySelector(".banner button").click()); // the focus and the composition stay
  await until("the second connection", async () => (await w.sent("initialize")).length === 2);
  await page.waitForFunction(() => document.querySelector(".details")?.textContent.includes("other@example.com") || document.querySelector(".draft"));
  await page.waitForTimeout(300);
  await cdp.send("Input.imeSetComposition", { text: "ひみつ", selectionStart: 3, selectionEnd: 3 });
  await cdp.send("Input.insertText", { text: "秘密" });
  await page.waitForTimeout(500);
  const now = await box.inputValue();
  assert.ok(!now.includes("secret"), `the box of the new owner has: ${now}`);
  assert.match(await page.locator(".draft").innerText(), /the old owner's secret/);
});

// part of R-REC-03
scene("what is written while a new thread begins stays in the box in which it is written", { scripts: ["slow"] }, async ({ w, page }) => {
  const box = page.locator("textarea#composer");
  await box.fill("hello");
  await box.press("Enter");
  await until("thread/start", async () => (await w.sent("thread/start")).length === 1);
  await box.pressSequentially(" and one more thing");
  await w.do("release", "start");
  await until("turn/start", async () => (await w.sent("turn/start")).length === 1);
  await page.waitForFunction(() => document.querySelector("[role=feed] article"));
  await page.waitForTimeout(300);
  assert.equal((await w.sent("turn/start"))[0].input[0].text, "hello");
  assert.match(await box.inputValue(), /and one more thing$/);
});

// part of R-REC-03
scene("what was typed in the last moment before a reload is there afterwards", { scripts: ["drafts"] }, async ({ page }) => {
  const box = page.locator("textarea#composer");
  await box.waitFor();
  await page.waitForTimeout(500);
  for (let i = 0; i < 5; i++) {
    await box.fill("typed " + i);
    await page.reload();
    await page.waitForFunction(() => document.querySelector(".tlist a"));
    await page.waitForTimeout(300);
    assert.equal(await box.inputValue(), "typed " + i);
  }
});

// proves R-INT-08
scene("names that are written from right to left never change places", { scripts: ["righttoleft"] }, async ({ page }) => {
  await say(page, "hello");
  await page.waitForFunction(() => document.querySelectorAll("#needs [data-card]").length === 1);
  const x = await page.locator("#needs [data-choice='acceptWithExecpolicyAmendment'] .lit").evaluateAll((l) => l.map((e) => e.getBoundingClientRect().x));
  assert.ok(x.length === 2 && x[0] < x[1], `the rule's words stand at ${x}`);
  const line = await page.locator("#needs .literal bdi").evaluateAll((l) => l.map((e) => e.getBoundingClientRect().x));
  assert.ok(line.length === 2 && line[0] < line[1], `the line's words stand at ${line}`);
});

// proves R-INT-08
scene("Enter that is held answers nothing when a card becomes usable under it", { scripts: ["cards"] }, async ({ w, page }) => {
  await say(page, "hello");
  await page.waitForFunction(() => document.querySelectorAll("#needs [data-card]").length === 3);
  await page.locator("#needs .fold-btn").nth(0).click();
  await page.locator("#needs .fold-btn").nth(1).click();
  const deny = page.locator("#needs [data-choice='nothing']");
  await deny.evaluate((e) => e.focus());
  await page.keyboard.down("Enter");
  for (let i = 0; i < 25; i++) { await page.waitForTimeout(60); await page.keyboard.down("Enter"); }
  await page.keyboard.up("Enter");
  await page.waitForTimeout(300);
  assert.deepEqual(await w.answers("item/permissions/requestApproval"), [[]]);
});

// proves R-INT-08
scene("endless cards, each as large as may be, leave the page usable", { scripts: ["endless"] }, async ({ page }) => {
  await say(page, "hello");
  const began = Date.now();
  await page.waitForFunction(() => Number(document.querySelector(".bar .pending .count")?.textContent) >= 40, undefined, { timeout: 120_000 });
  console.log("# e2e: 40 cards after", Date.now() - began, "ms; nodes", await page.evaluate(() => document.querySelectorAll("*").length));
  await page.locator("textarea#composer").fill("still here");
});
