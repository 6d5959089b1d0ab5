// Every workflow by keyboard alone. After each step the accessibility tree is read from the browser as an assistive technology
// would get it, and what was sent to the two live regions; both are kept beside the pictures.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { answered, commandApproval, elicitation, fileApproval, permissionApproval, request, until, userInput } from "./lib/acts.mjs";
import { clean, context, enter, launch } from "./lib/browser.mjs";
import { Stage } from "./lib/stage.mjs";

const clock = Date.UTC(2026, 10, 30, 18, 30, 0);
let stage, browser;
before(async () => { stage = new Stage(); browser = await launch(); });
after(async () => { await browser?.close(); await stage?.close(); });

/** A person at the keyboard, with a protocol of what was pressed, announced and exposed. */
class Person {
  log = [];
  constructor(page, cdp) { Object.assign(this, { page, cdp }); }

  static async at(page) {
    const p = new Person(page, await page.context().newCDPSession(page));
    await page.evaluate(() => {
      globalThis.said = [];
      for (const id of ["say", "shout"]) new MutationObserver(() => { const t = document.getElementById(id).textContent; if (t) said.push([id, t]); }).observe(document.getElementById(id), { childList: true, characterData: true, subtree: true });
    });
    return p;
  }

  async press(...keys) {
    for (const k of keys) await this.page.keyboard.press(k);
    this.log.push("press " + keys.join(" "));
  }

  async type(text) {
    await this.page.keyboard.type(text);
    this.log.push("type " + JSON.stringify(text));
  }

  /** Moves with one key until f holds of the focused element. */
  async reach(what, key, f, most = 80) {
    for (let i = 0; i <= most; i++) {
      if (await this.page.evaluate(f)) {
        this.log.push(`${key} × ${i} to ${what}`);
        return;
      }
      await this.page.keyboard.press(key);
    }
    throw new Error(`${what} cannot be reached by ${key}; the focus is on ${await this.page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200))}`);
  }

  /** Role and name of what has the focus, and of everything that is exposed around it. */
  async look(step) {
    const { nodes } = await this.cdp.send("Accessibility.getFullAXTree");
    const lines = nodes.filter((n) => !n.ignored && !["none", "generic", "InlineTextBox", "StaticText", "LineBreak", "paragraph"].includes(n.role?.value)).map((n) => {
      const set = (n.properties ?? []).filter((p) => ["focused", "disabled", "checked", "expanded", "modal", "live", "busy"].includes(p.name) && p.value.value !== false && p.value.value !== "off").map((p) => `${p.name}=${p.value.value}`);
      return `    ${n.role.value} ${JSON.stringify((n.name?.value ?? "").slice(0, 120))}${set.length ? " " + set.join(" ") : ""}`;
    });
    const unnamed = nodes.filter((n) => !n.ignored && ["button", "link", "textbox", "checkbox", "radio", "combobox", "dialog", "article", "region", "navigation"].includes(n.role?.value) && !(n.name?.value ?? "").trim());
    assert.deepEqual(unnamed.map((n) => n.role.value), [], `${step}: something has no name`);
    this.log.push(`${step}: exposed`, ...lines);
    return lines;
  }

  async heard(region, text) {
    await this.page.waitForFunction(([r, text]) => said.some(([id, t]) => id === r && t.startsWith(text)), [region, text]);
    this.log.push(`heard in ${region === "say" ? "the status" : "the alert"}: ${text}`);
  }

  /** Requires that exactly this was sent to the two live regions, in this order: "alert: words" or "status: words". */
  async toldAll(...want) {
    const all = () => this.page.evaluate(() => said.map(([id, t]) => `${id === "say" ? "status" : "alert"}: ${t.replace(/\u00a0$/, "")}`));
    await until("the announcements", async () => (await all()).length >= want.length, 15_000).catch(() => {});
    assert.deepEqual(await all(), want);
  }

  async keep(name) {
    this.log.push("all that was announced:", ...(await this.page.evaluate(() => said.map(([id, t]) => `    ${id === "say" ? "status" : "alert"}: ${t}`))));
    if (!process.env.E2E_SHOTS_DIR) return;
    mkdirSync(join(process.env.E2E_SHOTS_DIR, "keyboard"), { recursive: true });
    writeFileSync(join(process.env.E2E_SHOTS_DIR, "keyboard", name + ".txt"), this.log.join("\n") + "\n");
  }
}

function workflow(name, options, f) {
  // proves R-UI-02
  test(`by keyboard: ${name}`, async () => {
    const w = await stage.open({ ...options, clock }), c = await context(browser, { clock }), page = await enter(c, w);
    try {
      await page.locator("textarea#composer, .tlist a").first().waitFor();
      await page.mouse.move(0, 0);
      const p = await Person.at(page);
      await f(p, w, page);
      await p.keep(name.replace(/\W+/g, "-"));
      clean(c);
    } catch (e) {
      if (process.env.E2E_SHOTS) await page.screenshot({ path: `${process.env.E2E_SHOTS}/key-${name.replace(/\W+/g, "-")}.png` }).catch(() => {});
      e.message += ` (the focus is on ${await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 150))})`;
      throw e;
    } finally {
      await c.close();
      await w.close().catch(() => {});
    }
  });
}

const focused = (selector) => new Function(`return !!document.activeElement?.matches(${JSON.stringify(selector)})`);
const composer = focused("textarea#composer");

/** Waits until a choice can be used: a card that just moved is inert. */
async function steady(page, kind) {
  await page.locator(`[data-choice="${kind}"][aria-disabled="false"]`).waitFor();
  await page.waitForTimeout(900);
}

async function hello(p) {
  await p.reach("the message box", "Tab", composer);
  await p.type("Please look at the build");
  await p.press("Enter");
}

workflow("a command is approved", { scripts: ["session"] }, async (p, w, page) => {
  await hello(p);
  const card = await request(page);
  await p.heard("shout", "A request needs you");
  assert.ok(await page.evaluate(composer), "the focus stayed where the person is");
  await p.look("with the request");
  await p.reach("the choice", "Shift+Tab", focused('[data-choice="acceptForSession"]'));
  await card.locator('[data-choice="acceptForSession"]').and(page.locator('[aria-disabled="false"]')).waitFor();
  await page.waitForTimeout(900);
  await p.press("Enter");
  await answered(w, commandApproval, { decision: "acceptForSession" });
  await page.waitForFunction(() => !document.querySelector("#needs"));
  await page.waitForFunction(() => document.activeElement && document.activeElement !== document.body);
  await p.look("afterwards");
  await p.toldAll("alert: A request needs you", "status: Turn finished");
});

workflow("a file change is approved", { scripts: ["file"] }, async (p, w, page) => {
  await hello(p);
  await request(page);
  await p.look("with the request");
  await p.reach("the choice", "Shift+Tab", focused('[data-choice="accept"]'));
  await steady(page, "accept");
  await p.press("Enter");
  await answered(w, fileApproval, { decision: "accept" });
  await page.waitForFunction(() => !document.querySelector("#needs") && !document.title.startsWith("(") && document.activeElement?.id === "composer");
  await p.look("afterwards");
  await p.toldAll("alert: A request needs you");
});

const labelled = (word) => new Function(`return !!document.activeElement?.closest("#needs") && [...document.activeElement.labels ?? []].some((l) => l.textContent.trim().startsWith(${JSON.stringify(word)}))`);

workflow("an MCP form is filled in", { scripts: ["form"] }, async (p, w, page) => {
  await hello(p);
  await request(page);
  await p.reach("send", "Shift+Tab", focused('[data-choice="accept"]'));
  await steady(page, "accept");
  await p.press("Enter");
  await page.waitForFunction(() => document.activeElement?.matches(".errsum"));
  await p.look("what is missing is named");
  assert.deepEqual(await w.answers(elicitation), [[]], "an unfinished form is not sent");
  await p.reach("the first field to correct", "Tab", focused(".errsum a"));
  await p.press("Enter");
  assert.ok(await page.evaluate(() => document.activeElement.matches("#needs input[aria-invalid=true]")), "the link leads to the field");
  await p.reach("the name", "Tab", labelled("Name"));
  await p.type("Bob");
  await p.reach("the age", "Shift+Tab", labelled("age"));
  await p.type("41");
  await p.reach("send", "Tab", focused('[data-choice="accept"]'));
  await p.look("filled in");
  await steady(page, "accept");
  await p.press("Enter");
  const [answer] = await until("the answer", async () => { const l = (await w.answers(elicitation)).flat(); return l.length === 1 && l; });
  assert.deepEqual([answer.action, answer.content.name, answer.content.age], ["accept", "Bob", 41]);
  await p.toldAll("alert: A request needs you");
});

workflow("an MCP tool is declined", { scripts: ["tool"] }, async (p, w, page) => {
  await hello(p);
  await request(page);
  await p.look("with the request");
  await p.reach("the choice", "Shift+Tab", focused('[data-choice="decline"]'));
  await steady(page, "decline");
  await p.press("Enter");
  await answered(w, elicitation, { action: "decline", content: null });
  await page.waitForFunction(() => !document.querySelector("#needs") && !document.title.startsWith("(") && document.activeElement?.id === "composer");
  await p.look("afterwards");
  await p.toldAll("alert: A request needs you");
});

workflow("threads are switched with drafts", { scripts: ["drafts"] }, async (p, w, page) => {
  const row = (title) => new Function(`return !!document.activeElement?.matches(".tlist a") && document.activeElement.textContent.includes(${JSON.stringify(title)})`);
  const box = () => page.evaluate(() => document.querySelector("textarea#composer")?.value);
  await p.reach("the first thread", "Tab", row("First thread"));
  await p.press("Enter");
  await page.locator("[role=feed]", { hasText: "Hello from t1" }).waitFor();
  await p.reach("the message box", "Tab", composer);
  await p.type("draft of the first");
  await p.reach("the second thread", "Shift+Tab", row("Second thread"));
  await p.press("Enter");
  await page.locator("[role=feed]", { hasText: "Hello from t2" }).waitFor();
  assert.equal(await box(), "");
  await p.look("the second thread");
  await p.reach("the message box", "Tab", composer);
  await p.type("draft of the second");
  await p.reach("the first thread", "Shift+Tab", row("First thread"));
  await p.press("Enter");
  await page.waitForFunction(() => document.querySelector("textarea#composer")?.value === "draft of the first");
  await p.look("the first thread again");
  await p.reach("the second thread", "Tab", row("Second thread"));
  await p.press("Enter");
  await page.waitForFunction(() => document.querySelector("textarea#composer")?.value === "draft of the second");
  assert.equal((await w.sent("turn/start")).length, 0);
  await p.toldAll();
});

workflow("the profile is changed", { scripts: ["empty", "text"], second: true }, async (p, w, page) => {
  await p.press("F6");
  await p.reach("the profile", "Tab", focused("button.profile"));
  await p.press("Enter");
  await page.locator("dialog[open]").waitFor();
  await p.look("the profiles");
  await p.reach("the other one", "Tab", new Function(`return !!document.activeElement?.matches("dialog .plist button") && document.activeElement.closest("li").textContent.includes("other")`));
  await p.press("Enter");
  await page.waitForFunction(() => !document.querySelector("dialog[open]") && document.querySelector("button.profile b")?.textContent === "other");
  assert.ok(await page.evaluate(() => document.activeElement?.matches("button.profile")), "the focus is back");
  await p.look("afterwards");
  await until("the second connection", async () => (await w.sent("initialize")).length === 2);
  await p.toldAll("status: Connected");
});

workflow("a search leads to an item", { scripts: ["thousand"] }, async (p, w, page) => {
  await p.reach("the thread", "Tab", focused(".tlist a"));
  await p.press("Enter");
  await page.locator("[role=feed]", { hasText: "Answer 499" }).waitFor();
  await p.press("Control+k");
  await page.locator("dialog[open] input[type=search]").waitFor();
  await page.keyboard.insertText("Answer 470:");
  p.log.push('insert "Answer 470:"');
  await page.locator(".hits a").waitFor();
  await p.look("the result");
  await p.toldAll("status: 1 result in the 100 items that are loaded.");
  await p.reach("the result", "Tab", focused(".hits a"));
  await p.press("Enter");
  await page.waitForFunction(() => !document.querySelector("dialog[open]") && document.activeElement?.matches("[role=feed] article") && document.activeElement.textContent.includes("Answer 470:"));
  await p.look("at the item");
});

workflow("the plain page", { scripts: ["drafts"] }, async (p, w, page) => {
  await p.reach("the thread", "Tab", focused(".tlist a"));
  await p.press("Enter");
  await page.locator("[role=feed]", { hasText: "Hello from t1" }).waitFor();
  await p.reach("the plain page", "Tab", new Function(`return document.activeElement?.textContent.trim() === "Plain page"`));
  await p.press("Enter");
  await page.locator("dialog[open] pre").waitFor();
  await p.look("the plain page");
  await p.reach("its text", "Tab", focused("dialog[open] pre"));
  assert.match(await page.evaluate(() => document.activeElement.textContent), /^Codex\nHello from t1$/);
  await p.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  assert.equal(await page.evaluate(() => document.activeElement?.textContent.trim()), "Plain page", "the focus is back");
  await p.toldAll();
});

workflow("permissions", { scripts: ["permissions"] }, async (p, w, page) => {
  await hello(p);
  await request(page);
  await p.reach("a permission", "Shift+Tab", focused("#needs input[type=checkbox]"));
  await p.press("Space");
  await p.look("one is ticked");
  await p.reach("the grant", "Tab", focused('[data-choice="grant"]'));
  await page.waitForTimeout(900);
  await p.press("Enter");
  await until("the answer", async () => (await w.answers(permissionApproval)).flat().length === 1);
});

workflow("a question", { scripts: ["question"] }, async (p, w, page) => {
  await hello(p);
  await request(page);
  await p.reach("an option", "Shift+Tab", focused("#needs input[type=radio]"));
  await p.press("ArrowUp"); // from the last one, to which Shift Tab leads
  await p.look("an option is chosen");
  await p.reach("submit", "Tab", focused('[data-choice="submit"]'));
  await page.waitForTimeout(900);
  await page.locator('[data-choice="submit"][aria-disabled="false"]').waitFor();
  await p.press("Enter");
  await until("the answer", async () => (await w.answers(userInput)).flat().length === 1);
});

workflow("interrupt, help and search", { scripts: ["streaming"] }, async (p, w, page) => {
  await hello(p);
  await page.locator("[role=feed]", { hasText: "second one still" }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.id), "composer", "the focus stays where the person is");
  await p.press("Control+.");
  await until("the interrupt", async () => (await w.sent("turn/interrupt")).length === 1);
  await p.press("Control+k");
  await page.locator("dialog[open]").waitFor();
  await p.look("search");
  await p.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  assert.equal(await page.evaluate(() => document.activeElement?.id), "composer", "the focus is back");
  await p.press("F6", "F6");
  await p.reach("something that is no box", "Tab", new Function("return !document.activeElement?.matches('textarea, input, select')"));
  await p.press("?");
  await page.locator("dialog[open]").waitFor();
  assert.ok(await page.evaluate(() => document.activeElement?.closest("dialog") !== null));
  await p.look("help");
  await p.press("Escape");
});

workflow("a long history is read item by item", { scripts: ["thousand"] }, async (p, w, page) => {
  await p.reach("the thread", "Tab", focused(".tlist a"));
  await p.press("Enter");
  await page.locator("[role=feed] article").nth(3).waitFor();
  await p.reach("an item", "Tab", focused("[role=feed] article"));
  const at = () => page.evaluate(() => Number(document.activeElement?.closest("article")?.getAttribute("aria-posinset")));
  const first = await at();
  await p.press("PageUp", "PageUp", "PageUp");
  assert.equal(await at(), first - 3);
  assert.ok(await page.evaluate(() => document.activeElement.isConnected && document.activeElement.matches("article")));
  await p.press("PageDown");
  assert.equal(await at(), first - 2);
  await p.look("in the middle");
});

// proves R-UI-02
workflow("Enter while composing Japanese sends nothing", { scripts: ["text"] }, async (p, w, page) => {
  await p.reach("the message box", "Tab", composer);
  await p.cdp.send("Input.imeSetComposition", { text: "にほん", selectionStart: 3, selectionEnd: 3 });
  await page.keyboard.press("Enter");
  await page.evaluate(() => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, bubbles: true, cancelable: true })));
  await page.waitForTimeout(300);
  assert.equal((await w.sent("turn/start")).length, 0);
  await p.cdp.send("Input.insertText", { text: "日本" });
  await p.press("Enter"); // the control: without a composition it is sent
  await until("the message", async () => (await w.sent("turn/start")).length === 1);
});
