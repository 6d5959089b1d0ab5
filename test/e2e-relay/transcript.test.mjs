// Each kind of item, as it is read, heard, found and copied.
import assert from "node:assert/strict";
import { say, threadRow } from "./lib/acts.mjs";
import { prepare, scene } from "./lib/scene.mjs";

prepare();

/** Joins the thread with an item of each kind and waits until its turn has failed. */
async function told(w, page) {
  await threadRow(page, "The broken build").click();
  await page.getByRole("button", { name: /^join/i }).first().click();
  await page.waitForFunction(() => !document.querySelector(".composer .join") && document.querySelector("textarea#composer"));
  await w.do("release", "joined");
  await say(page, "Why does **make** fail?");
  await page.getByText("The turn failed").waitFor();
}

const heard = `
- feed "Transcript":
  - article "You":
    - paragraph:
      - text: Turn
      - time
    - heading "You" [level=2]
    - paragraph: Why does **make** fail?
  - article "Reasoning":
    - group:
      - heading "Reasoning" [level=2]
      - paragraph:
        - strong: Why
        - text: it fails
  - article "Command /bin/bash -lc 'go test ./...' exit 0":
    - group:
      - heading "Command /bin/bash -lc 'go test ./...' exit 0" [level=2]:
        - text: Command
        - code: /bin/bash -lc 'go test ./...'
        - text: exit 0
      - group "Command output":
        - code: ok example 0.4s
      - paragraph:
        - button "Copy output"
        - text: /home/dev/work
  - article "Command /bin/bash -lc 'make check' exit 2":
    - group:
      - heading "Command /bin/bash -lc 'make check' exit 2" [level=2]:
        - text: Command
        - code: /bin/bash -lc 'make check'
        - text: exit 2
      - group "Command output":
        - code: "FAIL: got 3, want 4 Error 2"
      - paragraph:
        - button "Copy output"
        - text: /home/dev/work
  - article "Command /bin/bash -lc 'rm -rf build' declined":
    - group:
      - heading "Command /bin/bash -lc 'rm -rf build' declined" [level=2]:
        - text: Command
        - code: /bin/bash -lc 'rm -rf build'
        - text: declined
      - paragraph: No output.
      - paragraph: /home/dev/work
  - article "Changed 2 files +3 −1":
    - group:
      - heading "Changed 2 files +3 −1" [level=2]
      - group:
        - heading "/home/dev/work/a.go +2 −1" [level=3]
        - group "Changes in /home/dev/work/a.go":
          - code:
            - text: "@@ -1,3 +1,3 @@ kept"
            - deletion: − taken out
            - insertion: + put in
            - insertion: + and this
      - group:
        - heading "/home/dev/work/new.go new +1" [level=3]
        - group "Changes in /home/dev/work/new.go":
          - code:
            - insertion: + whole
  - article "tracker find_issue done MCP":
    - group:
      - heading "tracker find_issue done MCP" [level=2]:
        - text: tracker
        - code: find_issue
        - text: done MCP
      - paragraph: Arguments
      - group "Arguments":
        - code: "{ \\"number\\": 41 }"
      - paragraph: Result
      - group "Result":
        - code: Issue 41 is open
  - article "tracker find_issue failed MCP":
    - group:
      - heading "tracker find_issue failed MCP" [level=2]:
        - text: tracker
        - code: find_issue
        - text: failed MCP
      - paragraph: Arguments
      - group "Arguments":
        - code: "{ \\"number\\": 41 }"
      - paragraph: tracker is not reachable
  - article "Codex":
    - heading "Codex" [level=2]
    - paragraph:
      - text: The
      - strong: fault
      - text: is in
      - code: a.go
      - text: .
    - paragraph:
      - button "Copy"
  - article "Plan 1 of 3 done":
    - heading "Plan 1 of 3 done" [level=2]
    - list:
      - listitem: "Done: Find it"
      - listitem: "In progress: Mend it"
      - listitem: "To do: Test it"
  - article "The turn failed":
    - heading "The turn failed" [level=2]
    - paragraph: the model is overloaded
    - paragraph: What it did until then stays. You can send another message.`;

// proves R-UI-02
scene("each kind of item says what it is, what it did and how it ended, to the eye and to a screen reader", { scripts: ["kinds"], patient: true, viewport: { width: 1440, height: 2200 } }, async ({ w, page }) => {
  await told(w, page);
  const row = (id) => page.locator(`article[data-row="u/${id}"]`), open = (id) => row(id).locator("details").first().evaluate((d) => d.open);
  assert.deepEqual(await Promise.all(["r", "c1", "c2", "c3", "f1", "t1", "t2"].map(open)), [false, false, true, false, true, false, true], "what failed or changed something is open");
  await page.evaluate(() => document.querySelectorAll("[role=feed] details:not([open]) > summary").forEach((s) => s.click()));
  for (const id of ["r", "m"]) await row(id).locator(".md strong").waitFor();
  await row("f1").getByText("whole").waitFor();
  assert.equal((await page.locator("[role=feed]").ariaSnapshot()).replace(/- time: .*/, "- time"), heard.trim());
  // What a sighted person has beside the words: a sign and a tone for each end, a sign for each step, the lines of a change in two colours.
  const marks = (at, tone) => at.locator(`h2 .tag.${tone} svg`).count();
  assert.deepEqual(await Promise.all([marks(row("c1"), "good"), marks(row("c1"), "bad"), marks(row("c2"), "good"), marks(row("c2"), "bad"), marks(row("t1"), "good"), marks(row("t2"), "bad")]), [1, 0, 0, 1, 1, 1]);
  const plan = page.locator("ol.plan li");
  assert.deepEqual(await plan.evaluateAll((l) => l.map((li) => [li.getAttribute("aria-current"), li.querySelectorAll("svg").length])), [[null, 1], ["step", 1], [null, 1]]);
  assert.equal(new Set(await plan.locator("svg").evaluateAll((l) => l.map((s) => s.innerHTML))).size, 3, "a sign for each status");
  const colours = await row("f1").locator("pre").first().locator("ins, del, .ctx").evaluateAll((l) => l.map((e) => getComputedStyle(e).backgroundColor));
  assert.equal(new Set(colours).size, 3, `${colours}`);
  assert.equal(colours[2], colours[3]);
});

// proves R-UI-02
scene("the plain page has the words of each item, in order", { scripts: ["kinds"] }, async ({ w, page }) => {
  await told(w, page);
  await page.getByRole("button", { name: "Plain page" }).click();
  const text = await page.getByRole("group", { name: "Plain page" }).textContent();
  let at = 0;
  for (const part of ["You\nWhy does **make** fail?", "Reasoning\n**Why** it fails", "$ /bin/bash -lc 'go test ./...'\nok  \texample\t0.4s\n", "exit 0", "$ /bin/bash -lc 'make check'\nFAIL: got 3, want 4\nError 2\n", "exit 2", "$ /bin/bash -lc 'rm -rf build'",
    "Files: /home/dev/work/a.go\n@@ -1,3 +1,3 @@\n kept\n-taken out\n+put in\n+and this\n", "Files: /home/dev/work/new.go\nwhole\n", 'MCP tracker find_issue\n{"number":41}\n', "Issue 41 is open", 'MCP tracker find_issue\n{"number":41}\n', "tracker is not reachable", "Codex\nThe **fault** is in `a.go`."]) {
    const found = text.indexOf(part, at);
    assert.ok(found >= 0, `${JSON.stringify(part)} is not behind ${JSON.stringify(text.slice(0, at))}`);
    at = found + part.length;
  }
});

// proves R-UI-02
scene("a search finds what was said, and threads by their names", { scripts: ["kinds"] }, async ({ w, page }) => {
  await told(w, page);
  const dialog = page.locator("dialog[open]"), hits = dialog.locator(".hits li");
  const find = async (text) => {
    await page.keyboard.press("Control+k");
    await dialog.getByRole("searchbox", { name: "Search for" }).fill(text);
  };
  await find("FAULT");
  await hits.first().waitFor();
  assert.deepEqual((await hits.allInnerTexts()).map((t) => t.replace(/\s+/g, " ")), ["Codex The **fault** is in `a.go`. 9"]);
  assert.deepEqual(await hits.locator("mark").allInnerTexts(), ["fault"]);
  await dialog.getByText("1 result in the 9 items that are loaded.").waitFor();
  await hits.first().getByRole("link").click();
  await page.waitForFunction(() => document.activeElement?.getAttribute("data-row") === "u/m");
  await find("does **make");
  await hits.first().waitFor();
  assert.deepEqual((await hits.allInnerTexts()).map((t) => t.replace(/\s+/g, " ")), ["You Why does **make** fail? 1"]);
  await dialog.getByRole("searchbox").fill("nowhere");
  await dialog.getByText("0 results").waitFor();
  // Names of threads, by the server.
  await dialog.getByRole("radio", { name: "Thread names" }).check();
  await dialog.getByRole("searchbox").fill("MATTER");
  await dialog.getByText("1 thread", { exact: true }).waitFor();
  assert.deepEqual([await hits.allInnerTexts(), await hits.locator("q").allInnerTexts(), await hits.locator("mark").allInnerTexts()], [["Thread\nAnother matter"], ["Another matter"], ["matter"]]);
  assert.equal((await w.sent("thread/list")).at(-1).searchTerm, "MATTER");
  await hits.first().getByRole("link").click();
  await page.locator(".tlist [aria-current]", { hasText: "Another matter" }).waitFor();
  await threadRow(page, "The broken build").waitFor(); // the search does not stay in the list
  assert.equal((await w.sent("thread/list")).at(-1).searchTerm, undefined);
});
