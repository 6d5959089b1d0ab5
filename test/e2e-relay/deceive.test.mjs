// A server that wants a person to approve what was not read, and everything that makes a text go elsewhere than it was meant to.
import assert from "node:assert/strict";
import { answered, choose, commandApproval, elicitation, fileApproval, permissionApproval, request, say, threadRow, until } from "./lib/acts.mjs";
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
  const deny = page.locator("#needs [data-choice='nothing']"), focused = () => deny.evaluate((e) => e === document.activeElement);
  await deny.evaluate((e) => e.focus());
  await page.keyboard.down("Enter");
  const repeat = async () => { await page.waitForTimeout(60); await page.keyboard.down("Enter"); };
  while (await deny.getAttribute("aria-disabled") !== "false") await repeat();
  for (let i = 0; i < 10; i++) await repeat();
  await page.keyboard.up("Enter");
  await page.waitForTimeout(300);
  assert.ok(await focused(), "the key was held on it");
  assert.deepEqual(await w.answers(permissionApproval), [[]]);
  await page.keyboard.press("Enter"); // the control: a key that is pressed for it answers
  await answered(w, permissionApproval, { permissions: {}, scope: "turn" });
});

// proves R-INT-08
scene("endless cards, each as large as may be: what is typed arrives, dialogs open, and they are answered one after the other", { scripts: ["endless"] }, async ({ w, page }) => {
  await say(page, "hello");
  const began = Date.now();
  await page.waitForFunction(() => Number(document.querySelector(".bar .pending .count")?.textContent) >= 40, undefined, { timeout: 120_000 });
  console.log("# e2e: 40 cards after", Date.now() - began, "ms; nodes", await page.evaluate(() => document.querySelectorAll("*").length));
  const box = page.locator("textarea#composer");
  await box.pressSequentially("still here");
  assert.equal(await box.inputValue(), "still here");
  await page.keyboard.press("Control+k");
  const dialog = page.locator("dialog[open]"), field = dialog.locator("input").first();
  await field.pressSequentially("hello");
  assert.equal(await field.inputValue(), "hello");
  await field.fill(""); // Esc takes back a search first
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  const first = page.locator("#needs [data-card]").first(), given = async () => (await w.answers(commandApproval)).map((l) => l.map((a) => a.decision)).slice(0, 3);
  await choose(first, "cancel");
  await page.waitForFunction(() => document.querySelectorAll("#needs [data-card]").length === 39);
  for (const end of await first.locator(".text-end").all()) await end.scrollIntoViewIfNeeded();
  await choose(first, "accept");
  await page.waitForFunction(() => document.querySelectorAll("#needs [data-card]").length === 38);
  assert.deepEqual(await given(), [["cancel"], ["accept"], []]);
  assert.equal(await box.inputValue(), "still here");
});

/** The choice that lies at a point. */
const lies = (page, at) => page.evaluate(([x, y]) => document.elementFromPoint(x, y)?.closest("[data-choice]")?.dataset.choice, at);

const middle = (b) => b.evaluate((e) => { const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; });

const usable = (page, b) => b.and(page.locator('[aria-disabled="false"]')).waitFor();

/** Waits until the dock stands still. */
const stopped = (page) => page.evaluate(() => new Promise((done) => {
  const dock = document.querySelector(".dock");
  let last = -1, same = 0;
  const look = () => {
    same = dock.scrollTop === last ? same + 1 : 0;
    last = dock.scrollTop;
    if (same < 10) requestAnimationFrame(look);
    else done();
  };
  look();
}));

/** Will click what lies at a point, in the very moment in which only n cards are left; what it gives tells which choice that was. */
async function clickWhenLeft(page, n, at) {
  await page.evaluate(([n, [x, y]]) => {
    globalThis.clicked = new Promise((done) => {
      const watch = new MutationObserver(() => {
        if (document.querySelectorAll("#needs [data-card]").length !== n) return;
        watch.disconnect();
        const under = document.elementFromPoint(x, y)?.closest("[data-choice]");
        under?.click();
        done(under?.dataset.choice);
      });
      watch.observe(document.body, { childList: true, subtree: true });
    });
  }, [n, at]);
  return () => page.evaluate(() => clicked);
}

/** Requires that a click was refused, which the card says, and that the same click is an answer once the card has stood still. */
async function refusedThenTaken(w, page, accept, at) {
  await until("what came of the click", async () => await page.locator("#needs .ask-b > .hint").count() > 0 || (await w.answers(commandApproval)).some((l) => l.length > 0));
  assert.ok((await w.answers(commandApproval)).every((l) => l.length === 0), "a click that was aimed at something else was an answer");
  await usable(page, accept);
  assert.equal(await lies(page, at), "accept");
  await page.mouse.click(...at);
  await until("the answer", async () => JSON.stringify((await w.answers(commandApproval))[0]) === JSON.stringify([{ decision: "accept" }]));
}

// proves R-INT-08
scene("a card below goes away, and the choices above move under the pointer: the click that comes then does nothing", { scripts: ["below"] }, async ({ w, page }) => {
  await say(page, "hello");
  const card = await request(page, 2), accept = card.locator('[data-choice="accept"]'), decline = card.locator('[data-choice="decline"]');
  await page.locator(".dock").hover({ position: { x: 20, y: 100 } });
  await page.mouse.wheel(0, 10_000);
  await stopped(page);
  await usable(page, decline);
  const [x, y] = await middle(decline), at = [x, y - (await decline.boundingBox()).height / 2 + 4];
  await page.mouse.move(...at);
  assert.equal(await lies(page, at), "decline");
  const clicked = await clickWhenLeft(page, 1, at);
  await w.do("release", "gone");
  assert.equal(await clicked(), "accept", "what was aimed at is somewhere else now");
  await refusedThenTaken(w, page, accept, at);
});

// proves R-INT-08
scene("the card with the focus goes away, and the focus moves and scrolls: the click that comes then does nothing", { scripts: ["between"] }, async ({ w, page }) => {
  await say(page, "hello");
  const card = await request(page, 3), accept = card.locator('[data-choice="accept"]');
  await page.locator("#needs .fold-btn").nth(2).click();
  await page.locator("#needs .fold-btn").nth(1).focus();
  await page.evaluate(() => { document.querySelector(".dock").scrollTop = 0; });
  await stopped(page);
  const at = await middle(accept);
  await page.mouse.move(...at);
  assert.equal(await lies(page, at), "accept");
  await page.mouse.wheel(0, 150);
  await stopped(page);
  assert.notEqual(await lies(page, at), "accept");
  await usable(page, accept);
  const clicked = await clickWhenLeft(page, 2, at);
  await w.do("release", "gone");
  assert.equal(await clicked(), "accept");
  assert.equal(await page.evaluate(() => document.activeElement.id), "h-needs");
  await refusedThenTaken(w, page, accept, at);
});

// proves R-INT-08
scene("the page scrolls by itself: the click that comes then does nothing", { scripts: ["between"] }, async ({ w, page }) => {
  await say(page, "hello");
  const card = await request(page, 3), accept = card.locator('[data-choice="accept"]');
  await page.locator("#needs .fold-btn").nth(2).click();
  await page.evaluate(() => { document.querySelector(".dock").scrollTop = 0; });
  await stopped(page);
  const at = await middle(accept);
  await page.evaluate(() => { document.querySelector(".dock").scrollTop = 150; });
  await stopped(page);
  await usable(page, accept);
  assert.equal(await page.evaluate(([x, y]) => {
    document.querySelector("#h-needs").focus();
    const under = document.elementFromPoint(x, y)?.closest("[data-choice]");
    under?.click();
    return under?.dataset.choice;
  }, at), "accept");
  await refusedThenTaken(w, page, accept, at);
});

for (const [name, act] of [
  ["the wheel", async (page) => { await page.locator(".dock").hover({ position: { x: 20, y: 300 } }); return () => page.mouse.wheel(0, 60); }],
  ["a key", async (page) => { await page.locator("#needs .fold-btn").first().focus(); return () => page.keyboard.press("ArrowDown"); }],
]) {
  // part of R-INT-08
  scene(`a click right after one's own scrolling by ${name} is an answer`, { scripts: ["between"] }, async ({ w, page }) => {
    await say(page, "hello");
    const card = await request(page, 3), accept = card.locator('[data-choice="accept"]');
    await page.locator("#needs .fold-btn").nth(2).click();
    await page.evaluate(() => { document.querySelector(".dock").scrollTop = 0; });
    const scroll = await act(page);
    await stopped(page);
    await usable(page, accept);
    await accept.evaluate((b) => {
      globalThis.clicked = new Promise((done) => {
        document.querySelector(".dock").addEventListener("scroll", () => { b.click(); done(b.closest(".dock").scrollTop); }, { once: true });
      });
    });
    await scroll();
    assert.ok(await page.evaluate(() => clicked) > 0);
    await until("the answer", async () => JSON.stringify((await w.answers(commandApproval))[0]) === JSON.stringify([{ decision: "accept" }]));
  });
}

for (const [script, kind, last] of [["longrule", "acceptWithExecpolicyAmendment", "rm -rf ~"], ["longhost", "applyNetworkPolicyAmendment", "evil.example"]]) {
  // proves R-INT-08
  scene(`a rule of more than 8 KiB is read to its end before anything is accepted (${kind})`, { scripts: [script] }, async ({ w, page }) => {
    await say(page, "hello");
    const card = await request(page), accept = card.locator('[data-choice="accept"]'), rule = card.locator(`[data-choice="${kind}"]`), cancel = card.locator('[data-choice="cancel"]');
    assert.ok((await rule.textContent()).length < 300, "the name of the button is the rule");
    const above = card.locator(".rule-x");
    assert.equal(await rule.getAttribute("aria-details"), await above.getAttribute("id"));
    assert.ok((await above.textContent()).includes(last));
    await card.locator(".cardend").first().scrollIntoViewIfNeeded(); // the end of the rest
    await usable(page, cancel);
    for (const b of [accept, rule]) {
      await b.evaluate((e) => e.click());
      assert.equal(await b.getAttribute("aria-disabled"), "true");
    }
    await card.locator(".why").waitFor();
    assert.deepEqual(await w.answers(commandApproval), [[]]);
    await above.locator(".text-end").scrollIntoViewIfNeeded();
    await choose(card, kind);
    const [[answer]] = await until("the answer", async () => { const l = await w.answers(commandApproval); return l[0].length > 0 && l; });
    assert.ok(JSON.stringify(answer).includes(last));
  });
}

// proves R-INT-08
scene("what a form suggests and offers is shown whole, and read to its end before it is sent", { scripts: ["longform"] }, async ({ w, page }) => {
  await say(page, "hello");
  const card = await request(page), send = card.locator('[data-choice="accept"]'), decline = card.locator('[data-choice="decline"]');
  assert.ok((await card.locator(".literal").textContent()).includes("and all of it"));
  assert.equal(await card.locator("select").count(), 0, "a list shows no option whole");
  await card.getByRole("radio", { name: "much" }).check();
  await usable(page, decline);
  await send.evaluate((e) => e.click());
  assert.equal(await send.getAttribute("aria-disabled"), "true");
  await card.locator(".why").waitFor();
  assert.deepEqual(await w.answers(elicitation), [[]]);
  for (const end of await card.locator(".text-end").all()) await end.scrollIntoViewIfNeeded();
  await choose(card, "accept");
  const [[answer]] = await until("the answer", async () => { const l = await w.answers(elicitation); return l[0].length > 0 && l; });
  assert.match(answer.content.note, /and all of it$/);
  assert.match(answer.content.what, /very much$/);
});
