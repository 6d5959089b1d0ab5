// What a person does with the page, and what a test waits for.
import assert from "node:assert/strict";

/** Waits until f gives something that is not false; the wire has no events to wait for. */
export async function until(what, f, ms = 2 * Number(process.env.E2E_PATIENCE ?? 30_000)) {
  const end = Date.now() + ms;
  for (;;) {
    const got = await f();
    if (got) return got;
    if (Date.now() > end) throw new Error(`waiting for ${what}`);
    await new Promise((r) => setTimeout(r, 50));
  }
}

/** Types a message and sends it. */
export async function say(page, text) {
  await page.locator("textarea#composer").fill(text);
  await page.locator("textarea#composer").press("Enter");
  await page.waitForFunction(() => document.querySelector("textarea#composer")?.value === "");
}

/** The first request that waits, when it is open. */
export async function request(page, n = 1) {
  await page.waitForFunction((n) => document.querySelectorAll("#needs [data-card]").length === n, n);
  return page.locator("#needs [data-card]").first();
}

/** Terms and what stands beside them, of the lists of a card or dialog that fit. */
export const facts = (at, lists) => at.locator(lists).evaluateAll((l) => l.flatMap((dl) => [...dl.querySelectorAll("dt")].map((t) => [t.innerText, t.nextElementSibling.innerText])));

/** Uses a choice of a request as a person does: not before it can be used. */
export async function choose(card, kind) {
  const b = card.locator(`[data-choice="${kind}"]`);
  await b.scrollIntoViewIfNeeded(); // what moved is inert for a moment, from the next frame on
  await b.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await b.and(card.page().locator('[aria-disabled="false"]')).waitFor();
  await b.click();
}

/** The kinds that a request offers, in order. */
export const offered = (card) => card.locator("[data-choice]").evaluateAll((l) => l.map((b) => b.dataset.choice));

/** Waits until n turns ended with a status on the wire, and the page shows no running turn. */
export async function ended(world, page, n, status = "completed") {
  await until(`turn ${n} ${status}`, async () => (await world.do("wire")).filter((f) => !f.sent && f.method === "turn/completed" && f.params.turn.status === status).length >= n);
  await page.waitForFunction(() => ![...document.querySelectorAll(".composer button")].some((b) => b.getAttribute("aria-keyshortcuts") === "Control+."));
}

/** Requires that the last request of a method was answered once, with want. */
export async function answered(world, method, want, times) {
  const list = await until("the answer", async () => { const l = await world.answers(method); return l.length > 0 && l.at(-1).length > 0 && l; });
  if (times !== undefined) assert.equal(list.length, times);
  assert.deepEqual(list.at(-1), [want]);
}

export const escalated = (command) => `SCN call exec_command ${JSON.stringify({ cmd: command, sandbox_permissions: "require_escalated", justification: "need it" })}`;
export const commandApproval = "item/commandExecution/requestApproval", fileApproval = "item/fileChange/requestApproval",
  permissionApproval = "item/permissions/requestApproval", userInput = "item/tool/requestUserInput", elicitation = "mcpServer/elicitation/request";

/** The thread list's rows. */
export const threadRow = (page, text) => page.locator(".tlist a", { hasText: text });

/** Begins a new thread. */
export async function fresh(page) {
  await page.locator(".threads .side-h button").first().click();
  await page.waitForFunction(() => !document.querySelector(".tlist [aria-current]") && document.querySelector("textarea#composer"));
}
