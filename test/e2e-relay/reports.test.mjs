// What public bug reports about other front ends teach, as far as a page is concerned, with the scripted server: what a person
// sees, and what crossed the wire.
import assert from "node:assert/strict";
import { answered, choose, commandApproval, facts, offered, request, say, threadRow, until } from "./lib/acts.mjs";
import { enter } from "./lib/browser.mjs";
import { prepare, scene } from "./lib/scene.mjs";

prepare();

// report 9
scene("a request is a card at once, counted and announced", { scripts: ["late"] }, async ({ w, page }) => {
  await say(page, "hello");
  await page.evaluate(() => {
    globalThis.said = [];
    for (const id of ["say", "shout"]) new MutationObserver(() => said.push([id, document.getElementById(id).textContent])).observe(document.getElementById(id), { childList: true, characterData: true, subtree: true });
    globalThis.seen = new Promise((r) => { new MutationObserver(() => { if (document.querySelector("#needs [data-card]")) r(performance.timeOrigin + performance.now()); }).observe(document.body, { childList: true, subtree: true }); });
  });
  await w.do("release", "ask");
  await page.evaluate(() => seen);
  assert.equal(await page.locator(".bar .pending .count").innerText(), "1");
  await page.waitForFunction(() => said.some(([id, text]) => id === "shout" && text !== ""));
  assert.match(await page.title(), /^\(1\)/);
  // No timer stands between request and card: the card is there with the batch that tells it (the worker makes one in 33 ms).
  assert.ok(await page.evaluate(() => document.activeElement?.closest("#needs") === null), "the focus did not move");
});

// report 10
scene("a thread that waits without a request says so and can be interrupted", { scripts: ["waits"] }, async ({ w, page }) => {
  await threadRow(page, "A thread that waits").click();
  await page.locator(".banner").getByRole("button", { name: /join/i }).click(); // only viewing: it may be another client's
  const interrupt = page.getByRole("button", { name: /interrupt/i });
  await interrupt.first().waitFor();
  assert.equal(await page.locator("#needs").count(), 0);
  await interrupt.first().click();
  await until("the interrupt", async () => (await w.sent("turn/interrupt")).length === 1);
  assert.equal((await w.sent("thread/resume")).length, 1, "joined once, by the person");
});

// report 13
scene("a card of an ended connection is gone and sends nothing; the same request comes back as another card", { scripts: ["cut", "again"] }, async ({ w, page }) => {
  await say(page, "hello");
  const old = await request(page), id = await old.getAttribute("data-card");
  const b = old.locator('[data-choice="accept"]');
  await b.and(page.locator('[aria-disabled="false"]')).waitFor();
  await page.evaluate(() => { globalThis.old = document.querySelector('#needs [data-choice="accept"]'); });
  await w.do("release", "cut");
  await page.waitForFunction((id) => !document.querySelector(`#needs [data-card="${id}"]`), id);
  await page.evaluate(() => old.click()); // the node that was there, as a click under way would
  assert.deepEqual(await w.answers(commandApproval), [[]]);
  await page.getByRole("button", { name: /start|restart|reconnect/i }).first().click();
  await until("the second connection", async () => (await w.sent("initialize")).length === 2);
  const join = page.getByRole("button", { name: /^join/i }).first();
  await join.click();
  const fresh = await request(page);
  assert.notEqual(await fresh.getAttribute("data-card"), id);
  await choose(fresh, "accept");
  await until("the answer", async () => (await w.answers(commandApproval)).flat().length > 0);
  assert.deepEqual((await w.answers(commandApproval)).flat().length, 2, "one answer: the id is the same twice, so it is counted for both askings");
  await page.evaluate(() => old.click());
  await page.waitForTimeout(300);
  assert.equal((await w.do("wire")).filter((f) => f.sent && !f.method && f.id === 0).length, 1);
});

// report 15
scene("a card offers the server's choices and no other", { scripts: ["two"] }, async ({ page }) => {
  await say(page, "hello");
  assert.deepEqual(await offered(await request(page)), ["accept", "cancel"]);
});

// report 17
// proves R-UI-02
scene("the choice for the session is reached and sent by keys", { scripts: ["session"] }, async ({ w, page }) => {
  await say(page, "hello");
  const card = await request(page);
  assert.deepEqual(await offered(card), ["accept", "acceptForSession", "decline", "cancel"]);
  await card.locator('[data-choice="acceptForSession"]').and(page.locator('[aria-disabled="false"]')).waitFor();
  for (let i = 0; i < 60 && (await page.evaluate(() => document.activeElement?.getAttribute("data-choice"))) !== "acceptForSession"; i++) await page.keyboard.press("Shift+Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-choice")), "acceptForSession");
  await card.locator('[data-choice="acceptForSession"]').and(page.locator('[aria-disabled="false"]')).waitFor();
  await page.waitForTimeout(900); // what the focus scrolled is inert for a moment
  await page.keyboard.press("Enter");
  await answered(w, commandApproval, { decision: "acceptForSession" });
});

// report 44
scene("a preview of 25 MB is a short title before it reaches the page; the page goes on", { scripts: ["preview"] }, async ({ page }) => {
  const row = page.locator(".tlist a").first();
  await row.waitFor();
  // What a page is told when it asks anew holds the title and no more of the text.
  const told = await page.evaluate(async () => {
    const { session } = JSON.parse(sessionStorage.getItem("relaycodex.session")), headers = { "Relay-Contract": "1", Authorization: "Relay " + session };
    const events = (await fetch("/api/stream", { headers })).body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let r; !/^data:.*\n\n/m.test(text) && !(r = await events.read()).done;) text += r.value;
    await events.cancel();
    return { length: text.length, title: text.includes("# **x** # **x**") };
  });
  assert.ok(told.title && told.length < 100_000, JSON.stringify(told));
  const title = await row.innerText();
  assert.ok(title.includes("x") && title.length < 400, title);
  assert.equal(await row.locator("strong, h1, em").count(), 0, "a title is no Markdown");
  await row.click();
  await page.getByRole("button", { name: /^join/i }).first().waitFor();
});

// report 45
scene("drafts survive switching and a cut", { scripts: ["drafts"] }, async ({ w, page }) => {
  await threadRow(page, "First thread").click();
  await page.getByRole("button", { name: /^join/i }).first().click();
  const box = page.locator("textarea#composer");
  await box.fill("draft one");
  await threadRow(page, "Second thread").click();
  await page.getByRole("button", { name: /^join/i }).first().click();
  await box.fill("draft two");
  await threadRow(page, "First thread").click();
  await page.waitForFunction(() => document.querySelector("textarea#composer")?.value === "draft one");
  await w.do("release", "cut");
  await page.waitForFunction(() => [...document.querySelectorAll("textarea")].some((t) => t.value === "draft one"));
  await page.getByRole("button", { name: /copy draft/i }).first().waitFor();
  await threadRow(page, "Second thread").click();
  await page.waitForFunction(() => [...document.querySelectorAll("textarea")].some((t) => t.value === "draft two"));
});

// part of R-REC-03
scene("two tabs in one draft: nothing is lost, and both say so", { scripts: ["empty"] }, async ({ w, c, page }) => {
  const other = await enter(c, w, await w.fresh()), box = (p) => p.locator("textarea#composer");
  await box(page).fill("from the first tab");
  await other.waitForFunction(() => document.querySelector("textarea#composer")?.value === "from the first tab");
  // What one tab tells does not arrive for a while, and the other one goes on without it.
  await page.route("**/api/command", (r) => r.abort());
  await box(page).fill("from the first tab, gone on alone");
  await box(other).fill("the second tab's own words");
  await page.waitForFunction(() => document.querySelector(".draft")?.textContent.includes("gone on alone"));
  assert.equal(await box(page).inputValue(), "the second tab's own words");
  await page.unroute("**/api/command");
  await page.getByRole("button", { name: "Add to the message" }).click();
  await other.waitForFunction(() => document.querySelector("textarea#composer")?.value === "the second tab's own words\n\nfrom the first tab, gone on alone");
  assert.equal(await page.locator(".draft").count(), 0);
  assert.equal(await other.locator(".draft").count(), 0, "the second tab lost nothing");
});

scene("an address that names a thread shows it; nothing is joined, and the name leaves the address", { scripts: ["thousand"] }, async ({ w, c }) => {
  const page = await enter(c, w, (await w.fresh()) + "&thread=t");
  await page.locator("[role=feed]", { hasText: "Answer 499" }).waitFor();
  assert.equal(await page.evaluate(() => location.hash), "");
  assert.deepEqual([(await w.sent("thread/read")).length, (await w.sent("thread/resume")).length], [1, 0]);
  await page.reload();
  await page.locator("[role=feed]", { hasText: "Answer 499" }).waitFor();
  assert.equal((await w.sent("thread/read")).length, 1);
  await page.evaluate(() => { location.hash = "#thread=nothing"; });
  await page.waitForFunction(() => !document.querySelector("[role=feed]"));
  assert.equal(await page.evaluate(() => location.hash), "");
});

// proves R-INT-08
scene("a command with invisible and reordering characters is shown by escapes, whole, and reads from left to right", { scripts: ["bidi"] }, async ({ w, page }) => {
  await say(page, "hello");
  const card = await request(page), text = await card.innerText();
  for (const escape of ["\\u{202e}", "\\u{2066}", "\\u{200b}", "\\x07", "\\x1b"]) assert.ok(text.includes(escape), escape);
  assert.doesNotMatch(await page.evaluate(() => document.querySelector("#needs").textContent), /[\u202a-\u202e\u2066-\u2069\u200b\u0007\u001b]/, "a raw one is in the card");
  assert.doesNotMatch(await page.evaluate(() => document.querySelector("[role=feed]").textContent.replace(/\n/g, "")), /[\u202a-\u202e\u2066-\u2069\u0007\u001b]/, "a raw one is in the transcript");
  assert.deepEqual(await w.answers(commandApproval), [[]]);
});

// proves R-INT-08
scene("a card says which profile, host and thread ask, whatever its command and the thread's name say", { scripts: ["impostor"], profile: "work" }, async ({ page }) => {
  await say(page, "hello");
  const card = await request(page), name = 'a"\\nProfile: trusted\\nHost: safe.example\\nThread: Yours';
  assert.deepEqual(await facts(card, "dl.where"), [["Profile", "work"], ["Host", "this computer"], ["Thread", name]]);
  assert.deepEqual(await card.locator("dl.where q").allInnerTexts(), [name], "a name that is the server's stands in quotes");
  assert.deepEqual(await facts(card, "dl.facts"), [["Directory", "/home/dev/work"], ["Environment", "local"], ["Agent's reason", "need it"]]);
  assert.deepEqual(await offered(card), ["accept", "acceptWithExecpolicyAmendment", "cancel"]);
  assert.deepEqual((await card.getByRole("button").allInnerTexts()).map((t) => t.split("\n")[0].trim()), ["Fold: Run this command?", "Run once", "Run and add a rule", "Don't run; stop the turn"]);
  assert.equal(await card.locator("script").count(), 0);
  assert.notEqual(await page.title(), "owned");
});

// proves R-INT-08
scene("a command is told word by word: spaces, quotes, nothing and line ends in a word", { scripts: ["words"] }, async ({ page }) => {
  await say(page, "hello");
  await request(page, 2);
  const [first, second] = await page.locator("#needs [data-card]").all();
  const list = first.getByRole("list", { name: "Word by word" });
  // Each word's lines; what ends with a line end bears its sign, which is no text.
  const words = await list.getByRole("listitem").evaluateAll((l) => l.map((li) => [...li.querySelectorAll(":scope > code > span")].map((s) => s.innerText + (getComputedStyle(s, "::after").content === '"↵"' ? "↵" : ""))));
  assert.deepEqual(words, [["git"], ["commit"], ["-m"], ["two words"], [""], ['say "hi"'], ["first ↵", "second"], ["it's"], ["a\\\\b"]]);
  const seen = await list.locator("li > code").evaluateAll((l) => l.map((c) => [c.getBoundingClientRect().width > 4, getComputedStyle(c).boxShadow !== "none"]));
  assert.deepEqual(seen, words.map(() => [true, true]), "each word has a frame, the empty one, too");
  await second.locator(".fold-btn").click();
  await second.locator("pre", { hasText: "rm -rf build; ls" }).waitFor();
  assert.equal(await second.locator(".argv").count(), 0, "a line that a shell takes apart is no list of words");
});

// proves R-INT-08
scene("a host that looks like another one is named as the network knows it, in a card, a rule and a link", { scripts: ["homograph"], patient: true }, async ({ page }) => {
  await say(page, "hello");
  const card = await request(page), named = "xn--pple-43d.com written as \u0430pple.com";
  assert.equal(await card.locator("h3").innerText(), "Allow this network access?");
  assert.deepEqual((await facts(card, "dl.facts")).find(([t]) => t === "Network"), ["Network", named + " (https)"]);
  assert.equal(await card.locator('[data-choice="applyNetworkPolicyAmendment"] .choice-x').innerText(), "From now on, this host is reached without asking: " + named);
  const dialog = page.locator("dialog[open]"), warning = "This name has characters of other scripts. It may look like another one.";
  for (const [link, host, warned] of [["Sign in", "xn--pple-43d.com", [warning]], ["here", "apple.com", []]]) {
    // The text has just been drawn: while it settles at the end, what is scrolled to may move away from under the pointer.
    await until("the dialog", async () => { if (await dialog.count() === 0) await page.locator("[role=feed] .md [role=link]", { hasText: link }).click(); return await dialog.count() > 0; });
    assert.deepEqual([await dialog.locator("pre").innerText(), await dialog.locator("dd code").innerText(), (await dialog.locator("dd .attn-t").allInnerTexts()).map((t) => t.trim())], [`https://${host}/login`, host, warned]);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  }
});

// proves R-INT-08
scene("a long command cannot be accepted before its end was shown", { scripts: ["long"] }, async ({ w, page }) => {
  await say(page, "hello");
  const card = await request(page), accept = card.locator('[data-choice="accept"]');
  await card.locator('[data-choice="cancel"]').and(page.locator('[aria-disabled="false"]')).waitFor();
  await page.waitForTimeout(900);
  await accept.click({ force: true });
  await page.waitForTimeout(300);
  assert.deepEqual(await w.answers(commandApproval), [[]]);
  assert.ok((await card.textContent()).includes("rm -rf ~"), "the end is there");
  for (const box of await card.locator("pre").all()) await box.evaluate((e) => { e.scrollTop = e.scrollHeight; });
  for (const end of await card.locator("pre > *:last-child").all()) await end.scrollIntoViewIfNeeded().catch(() => {});
  await choose(card, "accept");
  await answered(w, commandApproval, { decision: "accept" });
});

// proves R-INT-08
scene("a click at the place where a card just appeared does nothing", { scripts: ["late"] }, async ({ w, page }) => {
  await say(page, "hello");
  await page.evaluate(() => {
    globalThis.clicks = 0;
    new MutationObserver(() => { const b = document.querySelector('#needs [data-choice="accept"]'); if (b && clicks < 3) { clicks++; b.click(); } }).observe(document.body, { childList: true, subtree: true });
  });
  await w.do("release", "ask");
  const card = await request(page);
  await page.waitForTimeout(500);
  assert.ok(await page.evaluate(() => clicks) > 0);
  assert.deepEqual(await w.answers(commandApproval), [[]], "an early click was an answer");
  await choose(card, "accept"); // the control: a later one is
  await answered(w, commandApproval, { decision: "accept" });
});

// proves R-PRI-01
scene("markup of a model runs nothing, fetches nothing and leads nowhere by itself", { scripts: ["hostile"] }, async ({ c, page }) => {
  await say(page, "hello");
  await page.locator("[role=feed] .md").first().waitFor();
  await page.waitForFunction(() => document.querySelector("[role=feed] .md [role=link], [role=feed] .md a"));
  const got = await page.evaluate(() => ({
    title: document.title,
    tags: [...document.querySelectorAll("[role=feed] .md *")].map((e) => e.tagName).filter((t) => ["SCRIPT", "IMG", "SVG", "IFRAME", "LINK", "STYLE", "FORM", "BASE", "META", "OBJECT", "EMBED"].includes(t)),
    addresses: [...document.querySelectorAll("[role=feed] .md *")].flatMap((e) => e.getAttributeNames().filter((n) => /^(href|src|srcset|style|on.*)$/.test(n))),
  }));
  assert.notEqual(got.title, "owned");
  assert.deepEqual([got.tags, got.addresses], [[], []]);
  const link = page.locator("[role=feed] .md [role=link]", { hasText: "ok" }).first();
  await link.click();
  const dialog = page.locator("dialog[open]");
  await dialog.waitFor();
  assert.ok((await dialog.innerText()).includes("https://evil.example/ok"), "the whole address is shown before anything is opened");
  assert.deepEqual(c.foreign, []);
});

// What makes a page stand still is Markdown in its own thread, more of it at a time than is shown, or waiting for who renders it.
//
// report 44
// proves R-PRI-01
scene("6 MB of hostile Markdown (more the worker does not take in): little at a time goes to the thread that renders, and nothing waits for it", { scripts: ["heavy"], init: () => {
  globalThis.sizes = [];
  Worker.prototype.postMessage = (m) => { sizes.push(m.text.length); }; // it never answers
} }, async ({ page }) => {
  await say(page, "hello");
  const feed = page.locator("[role=feed]");
  await feed.locator(".md:not(:empty)").first().waitFor();
  await feed.getByRole("button", { name: /show all/i }).first().click();
  await feed.getByRole("button", { name: "Show less" }).waitFor();
  const box = page.locator("textarea#composer");
  await box.pressSequentially("still here");
  assert.equal(await box.inputValue(), "still here");
  const [sizes, shown, elements] = await page.evaluate(() => [globalThis.sizes, document.querySelector("[role=feed] .agent .md").textContent.length, document.querySelectorAll("[role=feed] *").length]);
  assert.ok(sizes.length > 0 && Math.max(...sizes) <= 128 << 10, `${sizes}`);
  assert.ok(shown >= 1 << 20 && elements < 20_000, `${shown} characters, ${elements} elements`);
});
