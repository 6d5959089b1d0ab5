// The scenarios of the worker's core with the real codex, through the page: what the page shows and what crossed the wire.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { answered, choose, commandApproval, elicitation, ended, escalated, facts, fileApproval, fresh, offered, permissionApproval, request, say, threadRow, until, userInput } from "./lib/acts.mjs";
import { clean, context, enter, launch } from "./lib/browser.mjs";
import { codex, Stage } from "./lib/stage.mjs";

let stage, browser;
before(async () => { stage = new Stage(); browser = await launch(); });
after(async () => { await browser?.close(); await stage?.close(); });

/** One scenario: a world, a page, and nothing wrong at the end. */
function scenario(name, options, f) {
  for (const remote of options.both ? [false, true] : [options.remote ?? false]) {
    test(options.both ? `${name} (${remote ? "WebSocket with a bearer" : "child"})` : name, async () => {
      const w = await stage.open({ ...options, both: undefined, remote });
      const c = await context(browser), page = await enter(c, w);
      try {
        await page.locator("textarea#composer").waitFor();
        await f({ w, c, page });
        clean(c);
        const shown = await page.evaluate(() => document.documentElement.outerHTML);
        for (const secret of ["canary-bearer-token"]) assert.ok(!shown.includes(secret) && !JSON.stringify(w.address).includes(secret));
        assert.ok(!(await w.do("log")).includes("canary-bearer-token"));
      } catch (e) {
        if (process.env.E2E_SHOTS) await page.screenshot({ path: `${process.env.E2E_SHOTS}/${name.replace(/\W+/g, "-")}.png` }).catch(() => {});
        throw e;
      } finally {
        await c.close();
        await w.close();
      }
    });
  }
}

// part of R-REL-04
scenario("a text turn", { both: true }, async ({ w, page }) => {
  await say(page, "SCN text Hello there from fake model");
  await ended(w, page, 1);
  await page.locator(".item", { hasText: "Hello there from fake model" }).last().waitFor();
  assert.equal((await w.sent("thread/start")).length, 1);
  const [turn] = await w.sent("turn/start");
  assert.equal(turn.input[0].text, "SCN text Hello there from fake model");
  assert.match(turn.clientUserMessageId, /^relay-/);
  assert.equal((await w.sent("thread/resume")).length, 0);
});

// proves R-INT-03
scenario("a command is approved, another one is not", { both: true }, async ({ w, page }) => {
  await say(page, escalated(`touch ${w.work}/yes && echo done`));
  let card = await request(page);
  assert.deepEqual(await offered(card), ["accept", "acceptWithExecpolicyAmendment", "cancel"]);
  assert.ok((await card.innerText()).includes(`touch ${w.work}/yes && echo done`));
  assert.ok(!existsSync(w.work + "/yes"));
  await choose(card, "accept");
  await ended(w, page, 1);
  await answered(w, commandApproval, { decision: "accept" }, 1);
  assert.ok(existsSync(w.work + "/yes"));
  await page.waitForFunction(() => !document.querySelector("#needs"));
  await say(page, escalated(`touch ${w.work}/no`));
  card = await request(page);
  await choose(card, "cancel");
  await ended(w, page, 1, "interrupted");
  await answered(w, commandApproval, { decision: "cancel" }, 2);
  assert.ok(!existsSync(w.work + "/no"));
  assert.equal((await w.sent("turn/start")).length, 2);
});

// part of R-REL-04
scenario("a file change is shown whole, approved and declined", { both: true }, async ({ w, page }) => {
  const patch = (name) => `SCN custom apply_patch *** Begin Patch\n*** Add File: ${name}\n+line1\n+line2\n*** End Patch\n`;
  await say(page, patch("yes.txt"));
  let card = await request(page);
  await card.getByText("line2").first().waitFor();
  assert.ok((await card.innerText()).includes("yes.txt"));
  await choose(card, "accept");
  await ended(w, page, 1);
  await answered(w, fileApproval, { decision: "accept" });
  assert.equal(readFileSync(w.work + "/yes.txt", "utf8"), "line1\nline2\n");
  await say(page, patch("no.txt"));
  card = await request(page);
  await choose(card, "decline");
  await ended(w, page, 2);
  await answered(w, fileApproval, { decision: "decline" });
  assert.ok(!existsSync(w.work + "/no.txt"));
});

// proves R-INT-03
scenario("of two permissions one is granted, for the turn", { both: true }, async ({ w, page }) => {
  await say(page, `SCN call request_permissions ${JSON.stringify({ reason: "need write", permissions: { file_system: { write: [w.work] }, network: { enabled: true } } })}`);
  const card = await request(page), boxes = card.locator("input[type=checkbox]");
  assert.deepEqual([await boxes.count(), await card.locator("input[type=checkbox]:checked").count()], [2, 0], "nothing is ticked at first");
  await card.locator("label.opt", { hasText: /network/i }).locator("input").check();
  await choose(card, "grant");
  await ended(w, page, 1);
  await answered(w, permissionApproval, { permissions: { network: { enabled: true } }, scope: "turn" });
});

const which = (more = {}) => `SCN call request_user_input ${JSON.stringify({ questions: [{ id: "q1", header: "Pick", question: "Which?", options: [{ label: "A (Recommended)", description: "first" }, { label: "B", description: "second" }], ...more }] })}`;

// proves R-INT-02
scenario("a question that blocks nothing", { both: true }, async ({ w, page }) => {
  await say(page, which());
  const card = await request(page);
  await page.locator("textarea#composer").fill("meanwhile I go on writing");
  await card.getByRole("radio", { name: /^B/ }).check();
  assert.deepEqual(await w.answers(userInput), [[]], "a selection answers nothing");
  await choose(card, "submit");
  await ended(w, page, 1);
  await answered(w, userInput, { answers: { q1: { answers: ["B"] } } });
  assert.equal(await page.locator("textarea#composer").inputValue(), "meanwhile I go on writing");
});

// proves R-INT-02
scenario("a secret question is refused and seen nowhere", {}, async ({ w, page }) => {
  await say(page, which({ question: "canary-secret-question?", is_secret: true, isSecret: true }).replace("SCN ", "SCN "));
  await ended(w, page, 1);
  assert.equal(await page.locator("#needs").count(), 0);
  const [answers] = await w.answers(userInput);
  assert.equal(answers.length, 1);
  const cards = await page.evaluate(() => [...document.querySelectorAll("[role=feed] article")].filter((a) => !a.textContent.includes("SCN call")).map((a) => a.textContent).join("\n"));
  assert.ok(!cards.includes("canary-secret-question"));
});

// proves R-INT-04
scenario("an MCP form is checked here and sent in its own words", { both: true, mcp: true }, async ({ w, page }) => {
  await say(page, "SCN nscall mcp__fake ask_form {}");
  const card = await request(page);
  await card.getByLabel(/^Name/).fill("B");
  await card.getByLabel(/age/).first().fill("3");
  await choose(card, "accept").catch(() => {});
  await page.waitForTimeout(300);
  assert.deepEqual(await w.answers(elicitation), [[]], "a name that is too short is not sent");
  await card.getByLabel(/^Name/).fill("Bob");
  await choose(card, "accept");
  await ended(w, page, 1);
  const [[answer]] = await w.answers(elicitation);
  assert.equal(answer.action, "accept");
  assert.deepEqual([answer.content.name, answer.content.age], ["Bob", 3]);
  const calls = (await w.do("calls")).map((l) => JSON.parse(l));
  assert.equal(calls.length, 1);
  assert.equal(calls[0].got.name, "Bob");
});

// proves R-INT-04
scenario("an MCP tool is approved, another call is not", { both: true, mcp: true }, async ({ w, page }) => {
  await say(page, "SCN nscall mcp__fake danger {}");
  let card = await request(page);
  await choose(card, "decline");
  await ended(w, page, 1);
  await answered(w, elicitation, { action: "decline", content: null });
  assert.deepEqual(await w.do("calls"), []);
  await say(page, "SCN nscall mcp__fake danger {}");
  card = await request(page);
  await choose(card, "accept");
  await ended(w, page, 2);
  assert.equal((await w.do("calls")).length, 1);
});

// proves R-CONN-08
scenario("an interrupt with an approval that waits", { both: true }, async ({ w, page }) => {
  await say(page, escalated(`touch ${w.work}/never`));
  await request(page);
  await page.locator("textarea#composer").focus();
  await page.keyboard.press("Control+.");
  await ended(w, page, 1, "interrupted");
  await page.waitForFunction(() => !document.querySelector("#needs"));
  assert.deepEqual(await w.answers(commandApproval), [[]]);
  assert.equal((await w.sent("turn/interrupt")).length, 1);
  assert.ok(!existsSync(w.work + "/never"));
});

// report 14, 35
// proves R-INT-01
scenario("a reload with three requests that wait: three cards, each answered once", {}, async ({ w, c, page }) => {
  for (let i = 0; i < 3; i++) {
    if (i > 0) await fresh(page);
    await say(page, escalated("true"));
    await request(page, i + 1);
  }
  const streams = [], snapshots = [];
  page.on("request", (r) => {
    if (r.url().endsWith("/api/stream")) streams.push(r.headers()["last-event-id"]);
    if (r.postData()?.includes("snapshot.read")) snapshots.push(r);
  });
  await page.reload();
  await request(page, 3);
  await until("the stream", () => streams.length > 0);
  assert.deepEqual([streams.length, snapshots.length, typeof streams[0]], [1, 1, "string"], "one snapshot, and one stream behind it");
  // No turn is there twice: each thread has one message and one command.
  for (let i = 0; i < 3; i++) {
    await page.locator(".tlist a").nth(i).click();
    await page.locator(".tlist li").nth(i).locator("[aria-current]").waitFor();
    await page.locator("[role=feed] article .card").waitFor();
    assert.deepEqual(await page.locator("[role=feed] article").evaluateAll((l) => [l.filter((a) => a.classList.contains("user")).length, l.filter((a) => a.querySelector(".card")).length, l.length]), [1, 1, 2]);
  }
  for (let left = 3; left > 0; left--) {
    const card = await request(page, left);
    await choose(card, "accept");
  }
  await until("three ends", async () => (await w.do("wire")).filter((f) => !f.sent && f.method === "turn/completed").length === 3);
  assert.deepEqual(await w.answers(commandApproval), [[{ decision: "accept" }], [{ decision: "accept" }], [{ decision: "accept" }]]);
  assert.equal((await w.sent("turn/start")).length, 3);
  void c;
});

// report 45
// part of R-REL-04
scenario("threads are switched with drafts", {}, async ({ w, page }) => {
  const box = page.locator("textarea#composer");
  await say(page, "SCN text first thread");
  await ended(w, page, 1);
  await box.fill("draft of the first");
  await fresh(page);
  assert.equal(await box.inputValue(), "");
  await say(page, "SCN text second thread");
  await ended(w, page, 2);
  await box.fill("draft of the second 日本語");
  await threadRow(page, "first thread").click();
  await page.waitForFunction(() => document.querySelector("textarea#composer")?.value === "draft of the first");
  await threadRow(page, "second thread").click();
  await page.waitForFunction(() => document.querySelector("textarea#composer")?.value === "draft of the second 日本語");
  await page.reload();
  await threadRow(page, "first thread").click();
  await page.waitForFunction(() => document.querySelector("textarea#composer")?.value === "draft of the first");
  assert.equal((await w.sent("turn/start")).length, 2);
});

// report 45
// part of R-REL-04, R-REC-03
scenario("the worker is restarted while a person types: the text stays, the old key is refused, a fresh address is taken without a reload", {}, async ({ w, c, page }) => {
  const box = page.locator("textarea#composer");
  await say(page, "SCN text hello");
  await ended(w, page, 1);
  await page.evaluate(() => { globalThis.stays = true; });
  await box.pressSequentially("half a sen");
  const address = await w.do("restart");
  const kept = page.locator("#composer");
  await page.waitForFunction(() => !sessionStorage.getItem("relaycodex.session"));
  await page.waitForFunction(() => document.querySelector("#composer")?.value?.startsWith("half a sen"));
  await kept.pressSequentially("tence");
  assert.equal(await kept.inputValue(), "half a sentence");
  c.wrong = []; // the refused stream
  await page.locator(".admit input").first().fill(address);
  await page.locator(".admit button").first().click();
  await page.waitForFunction(() => !!sessionStorage.getItem("relaycodex.session"));
  await page.waitForFunction(() => [...document.querySelectorAll("textarea")].some((t) => t.value === "half a sentence") || document.body.textContent.includes("half a sentence"));
  assert.equal(await page.evaluate(() => globalThis.stays), true, "the page was not loaded anew");
  assert.equal((await w.sent("turn/start")).length, 1, "nothing was sent by itself");
});

// A thread that does not exist yet has another page around its message box.
//
// part of R-REL-04, R-REC-03
scenario("the worker is lost before a thread exists: the same box keeps text and focus", {}, async ({ w, c, page }) => {
  const box = page.locator("textarea#composer");
  await box.pressSequentially("half a sen");
  await box.evaluate((e) => { e.dataset.stays = "yes"; });
  const address = await w.do("restart");
  await page.waitForFunction(() => !sessionStorage.getItem("relaycodex.session"));
  assert.equal(await page.evaluate(() => document.activeElement?.dataset.stays), "yes", "the focus stays in the box");
  await page.keyboard.type("tence");
  assert.equal(await box.inputValue(), "half a sentence");
  c.wrong = []; // the refused stream
  await page.locator(".admit input").first().fill(address);
  await page.locator(".admit button").first().click();
  await page.waitForFunction(() => !!sessionStorage.getItem("relaycodex.session"));
  await page.waitForFunction(() => document.querySelector("textarea#composer")?.value === "half a sentence");
  assert.equal((await w.sent("turn/start")).length, 0, "nothing was sent by itself");
});

// proves R-REC-08
scenario("a local server is restarted with a request that waits: the card ends, nothing is sent", {}, async ({ w, page }) => {
  await say(page, escalated(`touch ${w.work}/late`));
  const card = await request(page), id = await card.getAttribute("data-card");
  await page.locator(".bar .btn", { hasText: /Restart/ }).click();
  await page.locator("dialog[open] button", { hasText: /Restart/ }).click();
  await page.waitForFunction((id) => !document.querySelector(`#needs [data-card="${id}"]`), id);
  await until("the second connection", async () => (await w.sent("initialize")).length === 2);
  assert.deepEqual(await w.answers(commandApproval), [[]]);
  assert.ok(!existsSync(w.work + "/late"));
});

// part of R-REL-04
scenario("an answer of 20,000 deltas", {}, async ({ w, page }) => {
  await say(page, "SCN flood 20000 4");
  await ended(w, page, 1);
  const answer = page.locator("[role=feed] article.agent");
  await answer.getByRole("button", { name: "Show all" }).click();
  await answer.filter({ hasText: "w19999" }).waitFor();
  assert.deepEqual((await answer.textContent()).match(/w\d+/g), Array.from({ length: 20_000 }, (_, i) => "w" + i), "each once, in order");
  assert.equal((await w.sent("turn/start")).length, 1);
});

// proves R-CONN-08, R-REC-05, R-REC-08
scenario("two clients of one server: the second one views, joins, is asked the same and answers; the first one sees it settled", { remote: true }, async ({ w, page }) => {
  const other = await stage.open({ remote: true, beside: w.id }), c = await context(browser);
  try {
    const second = await enter(c, other);
    await second.locator("textarea#composer").waitFor();
    await say(page, escalated(`touch ${w.work}/shared`));
    const first = await request(page), command = `touch ${w.work}/shared`;
    await second.locator(".tlist a").first().click();
    const join = second.locator(".banner button", { hasText: /join/i }).first();
    await join.waitFor();
    assert.equal(await second.locator("#needs").count(), 0, "who only views is not asked");
    assert.equal((await other.sent("thread/resume")).length, 0);
    await join.click();
    const card = await request(second);
    for (const one of [first, card]) {
      assert.ok((await one.innerText()).includes(command));
      assert.deepEqual((await facts(one, "dl.where")).map(([t, v]) => (t === "Host" ? [t, v.replace(/:\d+$/, ":port")] : [t, v])), [["Profile", "remote"], ["Host", "127.0.0.1:port"], ["Thread", escalated(command)]]);
    }
    await choose(card, "accept");
    await ended(other, second, 1);
    await ended(w, page, 1);
    await page.waitForFunction(() => !document.querySelector("#needs"));
    assert.deepEqual([await w.answers(commandApproval), await other.answers(commandApproval)], [[[]], [[{ decision: "accept" }]]]);
    assert.ok(existsSync(w.work + "/shared"));
    assert.deepEqual([(await w.sent("turn/start")).length, (await other.sent("turn/start")).length, (await other.sent("thread/resume")).length], [1, 0, 1]);
    clean(c);
  } finally {
    await c.close();
    await other.close();
  }
});

for (const [version, pinned] of [["0.155.1", true], ["0.171.0", false]]) {
  // proves R-CON-01, R-CON-04
  scenario(`codex ${version}: a text turn and an approval; its version is named`, { both: true, codex: codex(version) }, async ({ w, page }) => {
    await say(page, "SCN text Hello there");
    await ended(w, page, 1);
    await page.locator(".item", { hasText: "Hello there" }).last().waitFor();
    await say(page, escalated(`touch ${w.work}/yes`));
    await choose(await request(page), "accept");
    await ended(w, page, 2);
    await answered(w, commandApproval, { decision: "accept" }, 1);
    assert.ok(existsSync(w.work + "/yes"));
    await page.locator("button.conn").click();
    const facts = await page.locator("dialog[open] .facts").innerText();
    assert.ok(facts.includes(version), facts);
    assert.equal(/not a version that relaycodex knows/.test(facts), !pinned, facts);
  });
}
