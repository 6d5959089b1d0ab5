import { test } from "node:test";
import assert from "node:assert/strict";
import vectors from "../../internal/visible/testdata/escapes.json";
import { code, prose, visible } from "../src/visible";

// proves R-INT-08, R-PRI-01
test("escapes are those of internal/visible, by the same vectors", () => {
  assert.ok(vectors.length >= 20);
  for (const v of vectors) assert.equal(visible(v.in), v.out, v.name);
});

// proves R-PRI-01
test("code shows what hides or reorders and keeps line ends, tabs and backslashes", () => {
  assert.equal(code("a\tb\\n\r\nc"), "a\tb\\n\nc");
  assert.equal(code("\u001b[31mred\u001b[0m \u001b[2K \u202e\u200b\u00ad"), "red \\x1b[2K \\u{202e}\\u{200b}\\u{00ad}");
  assert.equal(code("日本語 😀 é"), "日本語 😀 é");
});

// proves R-PRI-01
test("prose keeps joiners and variation selectors and shows what reorders or hides text", () => {
  assert.equal(prose("👩\u200d💻 ☃\ufe0f \u202eevil\u202c \u200b\u2066\u0007"), "👩\u200d💻 ☃\ufe0f \\u{202e}evil\\u{202c} \\u{200b}\\u{2066}\\x07");
  assert.equal(prose("\u{e0041}tag"), "\\u{e0041}tag");
});
