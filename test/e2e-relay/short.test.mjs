// One end-to-end scenario for each kind of request, with the real codex, for the gate: what is asked is shown, what a person
// chooses is sent once, and what was approved happened. The whole set is make e2e-relay.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { answered, choose, commandApproval, elicitation, ended, escalated, fileApproval, fresh, permissionApproval, request, say, userInput } from "./lib/acts.mjs";
import { clean, context, enter, launch } from "./lib/browser.mjs";
import { Stage } from "./lib/stage.mjs";

let stage, browser, w, c, page, turns = 0;
before(async () => {
  stage = new Stage();
  browser = await launch();
  w = await stage.open({ mcp: true });
  c = await context(browser);
  page = await enter(c, w);
  await page.locator("textarea#composer").waitFor();
});
after(async () => {
  await browser?.close();
  await stage?.close();
});

async function turn(text, f) {
  if (turns++ > 0) await fresh(page);
  await say(page, text);
  if (f) await f(await request(page));
  await ended(w, page, turns);
  await page.waitForFunction(() => !document.querySelector("#needs"));
  clean(c);
}

// part of R-REL-04
test("a text turn", () => turn("SCN text Hello there"));

test("a command", async () => {
  await turn(escalated(`touch ${w.work}/yes`), (card) => choose(card, "accept"));
  await answered(w, commandApproval, { decision: "accept" }, 1);
  assert.ok(existsSync(w.work + "/yes"));
});

test("a file change", async () => {
  await turn("SCN custom apply_patch *** Begin Patch\n*** Add File: new.txt\n+line\n*** End Patch\n", (card) => choose(card, "accept"));
  await answered(w, fileApproval, { decision: "accept" }, 1);
  assert.ok(existsSync(w.work + "/new.txt"));
});

test("permissions", async () => {
  await turn(`SCN call request_permissions ${JSON.stringify({ reason: "need it", permissions: { network: { enabled: true } } })}`, async (card) => {
    await card.locator("input[type=checkbox]").first().check();
    await choose(card, "grant");
  });
  await answered(w, permissionApproval, { permissions: { network: { enabled: true } }, scope: "turn" }, 1);
});

test("a question", async () => {
  await turn(`SCN call request_user_input ${JSON.stringify({ questions: [{ id: "q1", header: "Pick", question: "Which?", options: [{ label: "A (Recommended)", description: "first" }, { label: "B", description: "second" }] }] })}`, async (card) => {
    await card.getByRole("radio", { name: /^B/ }).check();
    await choose(card, "submit");
  });
  await answered(w, userInput, { answers: { q1: { answers: ["B"] } } }, 1);
});

test("an MCP form", async () => {
  await turn("SCN nscall mcp__fake ask_form {}", async (card) => {
    await card.getByLabel(/^Name/).fill("Bob");
    await card.getByLabel(/age/).first().fill("3");
    await choose(card, "accept");
  });
  assert.equal((await w.answers(elicitation)).at(-1)[0].content.name, "Bob");
});

test("an MCP tool", async () => {
  const before = (await w.do("calls")).length;
  await turn("SCN nscall mcp__fake danger {}", (card) => choose(card, "decline"));
  await answered(w, elicitation, { action: "decline", content: null });
  assert.equal((await w.do("calls")).length, before, "a declined tool was called");
});

test("a reload in the middle, and an interrupt", async () => {
  await fresh(page);
  await say(page, escalated("true"));
  await request(page);
  await page.reload();
  await request(page);
  await page.keyboard.press("Control+.");
  await ended(w, page, 1, "interrupted");
  assert.deepEqual((await w.answers(commandApproval)).at(-1), []);
});
