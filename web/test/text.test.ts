import { test } from "node:test";
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { en } from "../src/text/en";
import { ja } from "../src/text/ja";

const keys = Object.keys(en) as (keyof typeof en)[];

// proves R-UI-02
test("both languages have the same texts, of the same kind, none empty by accident", () => {
  assert.deepEqual(Object.keys(ja).sort(), [...keys].sort());
  const mayBeEmpty = new Set(["ruleEnds"]); // Japanese says it before
  for (const k of keys) {
    assert.equal(typeof ja[k], typeof en[k], k);
    if (typeof en[k] === "string") assert.ok(mayBeEmpty.has(k) || (en[k] !== "" && ja[k] !== ""), k);
    else assert.equal((ja[k] as (...a: never[]) => string).length, (en[k] as (...a: never[]) => string).length, k);
  }
});

// proves R-UI-02
test("Japanese texts are Japanese, but for punctuation and examples", () => {
  const neutral = new Set<string>(["quoted", "comma", "stop", "ofTotal", "faultCount"]);
  for (const k of keys) {
    const t = typeof ja[k] === "string" ? (ja[k] as string) : (ja[k] as (...a: unknown[]) => string)(2, 2);
    if (t !== "" && !neutral.has(k)) assert.match(t, /[\u3040-\u30ff\u4e00-\u9fff\uff00-\uffef]/, k);
  }
});

test("no text is unused", () => {
  // The sources, wherever the bundle of this test lies.
  const root = join(process.cwd(), "src");
  const sources: string[] = [];
  const walk = (dir: string) => {
    for (const e of readdirSync(dir, { withFileTypes: true })) {
      if (e.isDirectory()) walk(join(dir, e.name));
      else if (/\.tsx?$/.test(e.name) && !/^(en|ja|problems)\.ts$/.test(e.name)) sources.push(readFileSync(join(dir, e.name), "utf8"));
    }
  };
  walk(root);
  const all = sources.join("\n");
  assert.ok(sources.length > 30);
  assert.deepEqual(keys.filter((k) => !new RegExp(`\\.${k}\\b`).test(all)), []);
});
