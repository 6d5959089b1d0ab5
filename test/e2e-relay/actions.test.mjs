// What a person does with connections, threads and turns: nothing is taken from them unasked, nothing that was refused goes unsaid,
// and every way out is offered where it is needed.
import assert from "node:assert/strict";
import { commandApproval, request, say, threadRow, until } from "./lib/acts.mjs";
import { prepare, scene } from "./lib/scene.mjs";

prepare();

const button = (where, name) => where.getByRole("button", { name, exact: true });
const dialog = (page) => page.locator("dialog[open]").last();
const connections = async (w) => (await w.sent("initialize")).length;

/** Keeps what the alert region said. */
const listen = (page) => page.evaluate(() => {
  globalThis.said = [];
  new MutationObserver(() => { const t = document.getElementById("shout").textContent; if (t) said.push(t.replace(/\u00a0$/, "")); }).observe(document.getElementById("shout"), { childList: true, characterData: true, subtree: true });
});
const heard = (page, text) => page.waitForFunction((text) => said.includes(text), text);

/** Has the worker's answers to commands of a kind replaced by its own refusal of a moment before its end. */
async function refuse(page, kind) {
  const asked = [];
  await page.route("**/api/command", async (route) => {
    const c = route.request().postDataJSON();
    if (c.kind !== kind) return route.fallback();
    asked.push(c.params);
    await route.fulfill({ json: { version: c.version, operation: c.operation, status: "refused", problem: { code: "relay.command", variant: "stopping", text: "x" } } });
  });
  return asked;
}

/** The refusal that is shown: sentence, remedy and code. A dialog shows it where it was asked for; the page keeps it until it is closed. */
async function refused(page, where = page) {
  const note = where.locator(".trouble .note");
  await note.waitFor();
  assert.match(await note.innerText(), /The worker is stopping; nothing was sent\.\s+Start relaycodex again\. relay\.command\/stopping/);
  while ((await page.locator("dialog[open]").count()) > 0) await page.keyboard.press("Escape");
  await button(page.locator(".trouble"), "Close").click();
  await page.locator(".trouble").waitFor({ state: "detached" });
}

// ---------------------------------------------------------------- the plain page

// proves R-UI-02
for (const width of ["narrow", "wide"]) {
  scene(`the plain page has the plan and the failure, and is reached by keyboard (${width})`, { scripts: ["planned"], width }, async ({ page }) => {
    await say(page, "hello");
    await page.locator("[role=feed]", { hasText: "the model went away" }).waitFor();
    const reach = async (f) => {
      for (let i = 0; i < 60 && !(await page.evaluate(f)); i++) await page.keyboard.press("Tab");
      assert.ok(await page.evaluate(f), `reached: ${f}`);
      await page.keyboard.press("Enter");
    };
    await page.keyboard.press("F6");
    if (width === "narrow") {
      await reach(() => document.activeElement?.getAttribute("aria-label") === "Thread details");
      await page.locator("dialog.drawer[open]").waitFor();
    }
    await reach(() => document.activeElement?.textContent === "Plain page");
    const text = await page.locator("dialog.plainview[open] pre").innerText();
    assert.equal(await page.locator("dialog[open]").count(), 1, "the drawer has gone");
    assert.match(text, /^You\nhello\n\nCodex\nFirst the cause\.\n\nPlan \(1 of 3 done\)\nDone: Find the cause\nIn progress: Mend it\nTo do: Prove it\n\nThe turn failed\n“the model went away”$/);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    assert.ok(await page.evaluate(() => document.activeElement?.closest(".thread-h") !== null), "the focus is back");
  });
}

// ---------------------------------------------------------------- what would be lost is confirmed

/** Each way to end a connection: how a person asks for it, and what proves that it happened. */
const ends = {
  "stopping the server": { far: false, title: "Stop the server now?", word: "Stop server", act: stopping("Stop server"), done: (w, page) => page.locator(".banner", { hasText: "Not connected" }).waitFor() },
  "restarting the server": { far: false, title: "Restart the server now?", word: "Restart server", act: (page) => button(page.locator(".bar"), "Restart server").click(), done: again },
  disconnecting: { far: true, title: "Disconnect now?", word: "Disconnect", act: stopping("Disconnect"), done: (w, page) => page.locator(".banner", { hasText: "Not connected" }).waitFor() },
  reconnecting: { far: true, title: "Reconnect now?", word: "Reconnect", act: (page) => button(page.locator(".bar"), "Reconnect").click(), done: again },
  "changing the profile": { far: false, second: true, title: "Change the profile now?", word: "Change the profile", act: changing, done: (w, page) => page.waitForFunction(() => document.querySelector("button.profile b")?.textContent === "other" && !document.querySelector("dialog[open]")) },
  "changing the profile from a remote one": { far: true, second: true, title: "Change the profile now?", word: "Change the profile", act: changing, done: (w, page) => page.waitForFunction(() => document.querySelector("button.profile b")?.textContent === "other" && !document.querySelector("dialog[open]")) },
};

function stopping(word) {
  return async (page) => {
    await page.locator(".bar .conn").click();
    await button(page.locator("dialog[open]"), word).click();
  };
}

async function changing(page) {
  await page.locator("button.profile").click();
  await page.locator("dialog[open] .plist li", { hasText: "other" }).getByRole("button").click();
}

async function again(w) {
  await until("the second connection", async () => (await connections(w)) === 2);
}

for (const [name, e] of Object.entries(ends)) {
  // proves R-CONN-05
  scene(`${name} is confirmed while a request waits`, { scripts: ["command", "empty"], far: e.far, second: e.second }, async ({ w, page }) => {
    await say(page, "hello");
    const card = await request(page), id = await card.getAttribute("data-card");
    await e.act(page);
    const d = dialog(page);
    await d.getByRole("heading", { name: e.title, exact: true }).waitFor();
    assert.match(await d.innerText(), e.far ? /1 request needs you\.\s+Open requests end here; the server may go on waiting/ : /1 turn is running, 1 request needs you\.\s+The local server ends: what is running is interrupted, and open requests end\./);
    assert.match(await d.innerText(), e.second ? /kept for copying, and are not taken over/ : /Your drafts stay/);
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Leave it", "the least destructive button has the focus");
    await page.keyboard.press("Enter");
    await d.getByRole("heading", { name: e.title, exact: true }).waitFor({ state: "detached" });
    while ((await page.locator("dialog[open]").count()) > 0) await page.keyboard.press("Escape");
    assert.equal(await connections(w), 1);
    assert.equal(await page.locator(`#needs [data-card="${id}"]`).count(), 1, "nothing ended");
    await e.act(page);
    await button(dialog(page), e.word).click();
    await e.done(w, page);
    await page.waitForFunction((id) => !document.querySelector(`#needs [data-card="${id}"]`), id);
    assert.deepEqual(await w.answers(commandApproval), [[]]);
  });

  scene(`${name} is confirmed while only a turn runs`, { scripts: ["streaming", "empty"], far: e.far, second: e.second }, async ({ w, page }) => {
    await say(page, "hello");
    await page.locator("[role=feed]", { hasText: "second one still" }).waitFor();
    await page.locator(".threads .side-h button").first().click(); // it runs elsewhere than on the screen
    await page.waitForFunction(() => !document.querySelector(".tlist [aria-current]"));
    await e.act(page);
    await dialog(page).getByText("1 turn is running.", { exact: true }).waitFor();
    await button(dialog(page), e.word).click();
    await e.done(w, page);
  });

  scene(`${name} asks nothing when nothing is lost`, { scripts: ["text", "empty"], far: e.far, second: e.second }, async ({ w, page }) => {
    await say(page, "hello");
    await page.locator("[role=feed]", { hasText: "Two places need a change" }).waitFor();
    await until("the end of the turn", async () => (await page.locator(".tlist .tag").count()) === 0 && (await button(page.locator(".composer"), "Interrupt").count()) === 0);
    await e.act(page);
    await e.done(w, page);
    assert.equal(await page.getByRole("heading", { name: e.title, exact: true }).count(), 0);
  });
}

scene("the focus stays in the dialog when its button has done what it says", { scripts: ["empty"] }, async ({ page }) => {
  await page.locator("textarea#composer").waitFor();
  await stopping("Stop server")(page);
  await button(page.locator("dialog[open]"), "Stop server").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.closest("dialog") && document.activeElement.textContent), "Close");
});

// ---------------------------------------------------------------- what was refused is said

scene("a refused disconnect is said in the dialog and heard once", { scripts: ["empty"] }, async ({ page }) => {
  await page.locator("textarea#composer").waitFor();
  await listen(page);
  const asked = await refuse(page, "disconnect");
  await stopping("Stop server")(page);
  await refused(page, dialog(page));
  await heard(page, "The worker is stopping; nothing was sent.");
  assert.deepEqual(asked, [{}]);
  await page.waitForTimeout(2500); // what a second region would say comes two seconds later
  assert.deepEqual(await page.evaluate(() => said), ["The worker is stopping; nothing was sent."]);
});

scene("a refused restart is said where the page is", { scripts: ["empty"] }, async ({ page }) => {
  await page.locator("textarea#composer").waitFor();
  await listen(page);
  await refuse(page, "reconnect");
  await button(page.locator(".bar"), "Restart server").click();
  await heard(page, "The worker is stopping; nothing was sent.");
  await refused(page);
});

scene("a refused change of the profile is said among the profiles", { scripts: ["empty"], second: true }, async ({ page }) => {
  await page.locator("textarea#composer").waitFor();
  await listen(page);
  await refuse(page, "connect");
  await changing(page);
  await heard(page, "The worker is stopping; nothing was sent.");
  await refused(page, dialog(page));
});

scene("without a codex, looking again that was refused is said, too", { noCodex: true }, async ({ page }) => {
  const look = button(page, "Look again");
  await look.waitFor();
  await listen(page);
  await look.click(); // the control: what failed is the state, which the page shows already
  await until("a second look", async () => (await page.locator("h1", { hasText: "No codex found" }).count()) === 1);
  assert.equal(await page.locator(".trouble").count(), 0);
  await refuse(page, "reconnect");
  await look.click();
  await heard(page, "The worker is stopping; nothing was sent.");
  await refused(page);
});

scene("a page of the list that could not be read is said in the list", { scripts: ["listless"] }, async ({ page }) => {
  await threadRow(page, "The first page").waitFor();
  await listen(page);
  await button(page.locator(".threads"), "Show more").click();
  await page.locator(".threads .trouble", { hasText: "the disk is full" }).waitFor();
  await page.waitForFunction(() => said.some((t) => t.includes("the disk is full")));
});

/** Has the stream tell at the next moment that the server was too fast for the worker. */
function losing() {
  const real = fetch;
  globalThis.fetch = async (url, o) => {
    const r = await real(url, o);
    if (!String(url).endsWith("/api/stream")) return r;
    const put = new TransformStream({ transform(text, c) {
      if (globalThis.lose && text.includes('"events":[')) {
        globalThis.lose = false;
        text = text.replace('"events":[', '"events":[{"kind":"syncFailed","body":{"problem":{"code":"relay.sync","variant":"overflow","text":"x"}}},');
      }
      c.enqueue(text);
    } });
    return new Response(r.body.pipeThrough(new TextDecoderStream()).pipeThrough(put).pipeThrough(new TextEncoderStream()), { status: r.status, headers: r.headers });
  };
}

scene("reading again that failed is said, and goes away when it succeeds", { scripts: ["readonce"] }, async ({ w, c, page }) => {
  await c.addInitScript(losing);
  await page.reload();
  await threadRow(page, "A thread that is read").click();
  await page.locator("[role=feed], .empty").first().waitFor();
  await page.waitForFunction(() => document.querySelector("h1")?.textContent.includes("A thread that is read"));
  await listen(page);
  await page.evaluate(() => { globalThis.lose = true; });
  await w.do("release", "lose");
  const read = button(page.locator(".banner"), "Read again");
  await read.click();
  const note = page.locator(".trouble .note", { hasText: "The thread could not be read" });
  await note.waitFor();
  assert.match(await note.innerText(), /the disk is full/);
  await heard(page, "The thread could not be read");
  await read.click();
  await note.waitFor({ state: "detached" });
  await page.locator(".banner").waitFor({ state: "detached" });
});

// ---------------------------------------------------------------- a profile that is not enabled

// proves R-CONN-11
for (const from of [".banner", ".bar", "dialog[open]"]) {
  scene(`a remote profile that is not enabled says so, and is enabled by the button that says it (${from})`, { scripts: ["empty", "empty"], far: true, off: true }, async ({ w, page }) => {
    await page.locator(".bar .conn", { hasText: "Not enabled" }).waitFor();
    assert.doesNotMatch(await page.locator("body").innerText(), /stopped by you/);
    assert.match(await page.locator(".banner").innerText(), /This profile is not enabled\s+Remote profiles are off until you enable them[\s\S]*Host: build\.example/);
    assert.equal(await connections(w), 0);
    if (from === "dialog[open]") await page.locator(".bar .conn").click();
    assert.equal(await button(page, "Reconnect").count(), 0, "nothing is offered that would be refused");
    await button(page.locator(from), "Enable and connect").click();
    await until("the connection", async () => (await connections(w)) === 1);
    await page.locator(".bar .conn", { hasText: "Connected" }).waitFor();
    if (from === "dialog[open]") await page.keyboard.press("Escape");
    await stopping("Disconnect")(page);
    await page.keyboard.press("Escape");
    // It is enabled for as long as the worker runs, and now it was a person who ended it.
    await page.locator(".bar .conn", { hasText: "stopped by you" }).waitFor();
    await button(page.locator(".banner"), "Reconnect").click();
    await until("the second connection", async () => (await connections(w)) === 2);
  });
}

// ---------------------------------------------------------------- model and effort

scene("model and effort of the catalogue are chosen for the next turn, survive a first message that was not taken, and are inherited then", { scripts: ["models"] }, async ({ w, page }) => {
  const select = (name) => page.getByRole("combobox", { name, exact: true });
  const models = select("Model from the next turn on"), efforts = select("Reasoning effort from the next turn on");
  const options = (s) => s.locator("option").allInnerTexts();
  const turns = async (n) => (await until(`${n} turn/start`, async () => { const l = await w.sent("turn/start"); return l.length === n && l; })).map((p) => [p.model, p.effort]);
  await models.waitFor();
  assert.deepEqual(await options(models), ["Model: the server's own", "Quick", "Deep thought"]);
  assert.deepEqual(await options(efforts), ["Effort: low", "Effort low", "Effort medium"], "those of the server's default");
  await models.selectOption("deep");
  assert.deepEqual(await options(efforts), ["Effort: medium", "Effort medium", "Effort high"]);
  await efforts.selectOption("high");
  await page.locator("textarea#composer").fill("Please think");
  await page.locator("textarea#composer").press("Enter");
  await page.locator(".trouble", { hasText: "no capacity" }).waitFor();
  assert.deepEqual(await turns(1), [["deep", "high"]]);
  const [started] = await w.sent("thread/start");
  assert.deepEqual([started.model, "effort" in started], ["deep", false]);
  // The thread is there now, with the text and the choice.
  assert.equal(await page.locator("textarea#composer").inputValue(), "Please think");
  assert.deepEqual([await models.inputValue(), await efforts.inputValue()], ["deep", "high"]);
  await page.locator("textarea#composer").press("Enter");
  assert.deepEqual(await turns(2), [["deep", "high"], ["deep", "high"]]);
  await page.waitForFunction(() => document.querySelector("textarea#composer")?.value === "");
  // From here on the thread has them, and nothing is sent for them.
  await page.waitForFunction(() => [...document.querySelectorAll("select.pick")].map((s) => s.selectedOptions[0]?.textContent).join() === "Model: deep,Effort: high");
  await until("the end of the turn", async () => (await button(page.locator(".composer"), "Interrupt").count()) === 0);
  await say(page, "And again");
  assert.deepEqual((await turns(3))[2], [undefined, undefined]);
  // Another new thread begins with the server's own.
  await page.locator(".threads .side-h button").first().click();
  await page.waitForFunction(() => document.querySelector("select.pick")?.selectedOptions[0]?.textContent === "Model: the server's own");
});

// ---------------------------------------------------------------- ending what is only watched

scene("a turn that is only watched can be interrupted, by its button and not by the key", { scripts: ["watched"] }, async ({ w, page }) => {
  await threadRow(page, "A thread at work").click();
  const interrupt = button(page.locator(".composer"), "Interrupt");
  await interrupt.waitFor();
  await page.keyboard.press("Control+.");
  assert.match(await page.locator(".composer").innerText(), /perhaps another client's/);
  assert.deepEqual(await w.sent("turn/interrupt"), []);
  await interrupt.click();
  await until("the interrupt", async () => (await w.sent("turn/interrupt")).length === 1);
  await interrupt.waitFor({ state: "detached" });
  assert.deepEqual(await w.sent("thread/resume"), [], "nothing was joined");
});

// report 10
scene("a wait whose thread cannot be joined is ended", { scripts: ["taken"] }, async ({ w, page }) => {
  await threadRow(page, "A thread at work").click();
  await listen(page);
  await button(page.locator(".banner"), "Join to answer").click();
  await page.locator(".trouble", { hasText: "Another process is writing this thread." }).waitFor();
  await heard(page, "Another process is writing this thread.");
  await button(page.locator(".banner"), "Interrupt").click();
  await until("the interrupt", async () => (await w.sent("turn/interrupt")).length === 1);
  await page.locator(".banner", { hasText: "Waiting for an answer" }).waitFor({ state: "detached" });
});
