// The contrast of every pair of ink and ground that the page's style can make, computed from the tokens (WCAG 2.2, 1.4.3 and 1.4.11).
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const css = readFileSync("src/style/tokens.css", "utf8"); // check.mjs runs in web/
const tokens = new Map([...css.matchAll(/^\s*--([a-z-]+):\s*light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/gm)].map((m) => [m[1]!, { light: m[2]!, dark: m[3]! }]));

/** Relative luminance of #rrggbb. */
function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (x + 0.05) / (y + 0.05);
}

const flat = ["bg", "surface", "inset", "raised"], tinted = ["accent-soft", "attn-soft", "bad-soft", "good-soft", "ins", "del"];

/** Ink, the grounds on which it can stand, the least ratio. */
const pairs: [string, string[], number][] = [
  ["fg", [...flat, "hover", ...tinted], 7],
  ["muted", [...flat, "hover", ...tinted], 4.5],
  ["accent", [...flat, "hover", ...tinted], 4.5],
  ["accent-strong", [...flat, "hover", ...tinted], 4.5],
  ["attn", [...flat, "hover", "accent-soft", "attn-soft", "ins", "del"], 4.5],
  ["bad", [...flat, "hover", "accent-soft", "attn-soft", "bad-soft", "ins", "del"], 4.5],
  ["good", [...flat, "hover", "accent-soft", "attn-soft", "good-soft", "ins", "del"], 4.5],
  ["code-word", [...flat, "hover", "ins", "del"], 4.5],
  ["on-accent", ["accent", "accent-strong"], 4.5],
  // What bounds a control or shows where the focus is.
  ["edge", flat, 3],
  ["attn-edge", [...flat, "attn-soft"], 3],
  ["bad-edge", [...flat, "bad-soft"], 3],
];

// proves R-UI-02
test("the contrast of the tokens", (t) => {
  assert.ok(tokens.size >= 24, `only ${tokens.size} colours were read`);
  assert.ok(Math.abs(contrast("#000000", "#ffffff") - 21) < 1e-9 && Math.abs(contrast("#777777", "#ffffff") - 4.478) < 0.001, "the control: known ratios");
  const low: string[] = [], worst = { text: 21, edge: 21 };
  for (const [ink, grounds, least] of pairs) {
    for (const ground of grounds) {
      for (const theme of ["light", "dark"] as const) {
        const ratio = contrast(tokens.get(ink)![theme], tokens.get(ground)![theme]);
        if (ratio < least) low.push(`${theme}: ${ink} on ${ground} is ${ratio.toFixed(2)}, less than ${least}`);
        if (least > 3) worst.text = Math.min(worst.text, ratio);
        else worst.edge = Math.min(worst.edge, ratio);
      }
    }
  }
  assert.deepEqual(low, []);
  t.diagnostic(`least: text ${worst.text.toFixed(2)}, bounds ${worst.edge.toFixed(2)}`);
});

// proves R-UI-02
test("every colour that the style names is in a pair", () => {
  const style = readFileSync("src/style/main.css", "utf8");
  const inks = new Set([...style.matchAll(/(?<![-a-z])color:\s*var\(--([a-z-]+)\)/g)].map((m) => m[1]!));
  const grounds = new Set([...style.matchAll(/background(?:-color)?:\s*var\(--([a-z-]+)\)/g)].map((m) => m[1]!));
  assert.ok(inks.size >= 8 && grounds.size >= 8, "the style was not read");
  const known = new Set(pairs.map(([ink]) => ink)), under = new Set(pairs.flatMap(([, g]) => g));
  assert.deepEqual([[...inks].filter((i) => !known.has(i)), [...grounds].filter((g) => tokens.has(g) && !under.has(g) && !["line", "edge"].includes(g))], [[], []]);
});
