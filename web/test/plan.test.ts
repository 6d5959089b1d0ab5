import { test } from "node:test";
import assert from "node:assert/strict";
import { joined, plan, sum } from "../src/feed/plan";
import { Random } from "./random";

test("what reaches into the viewport and its margins is drawn, and gaps stand for the rest", () => {
  const heights = Array.from({ length: 1000 }, () => 100);
  assert.deepEqual(plan({ heights, top: 50_000, height: 600, margin: 600, keep: [] }), { runs: [{ start: 494, end: 512, gap: 49_400 }], rest: 48_800 });
  assert.deepEqual(plan({ heights, top: 50_000, height: 600, margin: 0, keep: [0, 3, 999] }).runs, [{ start: 0, end: 1, gap: 0 }, { start: 3, end: 4, gap: 200 }, { start: 500, end: 506, gap: 49_600 }, { start: 999, end: 1000, gap: 49_300 }]);
  assert.deepEqual(plan({ heights: [], top: 0, height: 1, margin: 1, keep: [0] }), { runs: [], rest: 0 });
});

test("any list, place and kept rows: all heights are accounted for, runs are in order, what is visible and kept is drawn", () => {
  const source = new Random(20260131);
  const r = () => source.next();
  for (let round = 0; round < 2000; round++) {
    const n = 1 + Math.floor(r() * 60);
    const heights = Array.from({ length: n }, () => (r() < 0.1 ? 0 : Math.floor(r() * 900)));
    const total = sum(heights, 0, n);
    const height = 1 + Math.floor(r() * 800), margin = Math.floor(r() * 800), top = Math.floor((r() * 3 - 1) * (total + 1));
    const keep = Array.from({ length: Math.floor(r() * 4) }, () => Math.floor(r() * (n + 4)) - 2);
    const p = plan({ heights, top, height, margin, keep });
    assert.ok(p.runs.length > 0);
    let at = 0, done = 0;
    const drawn = new Set<number>();
    for (const run of p.runs) {
      assert.ok(run.start >= done && run.end > run.start && run.end <= n);
      assert.equal(run.gap, sum(heights, done, run.start));
      at += run.gap + sum(heights, run.start, run.end);
      for (let i = run.start; i < run.end; i++) drawn.add(i);
      done = run.end;
    }
    assert.equal(at + p.rest, total);
    for (const k of keep) if (k >= 0 && k < n) assert.ok(drawn.has(k));
    let y = 0;
    for (let i = 0; i < n; i++) {
      const h = heights[i] ?? 0;
      if (h > 0 && y + h > top && y < top + height) assert.ok(drawn.has(i), `row ${i} is visible`);
      y += h;
    }
  }
});

test("rows stay when a shorter window comes that begins among them", () => {
  const rows = (s: string) => [...s].map((id) => ({ id }));
  const ids = (l: readonly { id: string }[]) => l.map((x) => x.id).join("");
  assert.equal(ids(joined(rows("abcdef"), rows("defg"))), "abcdefg");
  assert.equal(ids(joined(rows("abc"), rows("xyz"))), "xyz");
  assert.equal(ids(joined(rows("abc"), rows("abcd"))), "abcd");
  assert.equal(ids(joined([], rows("a"))), "a");
  assert.equal(ids(joined(rows("a"), [])), "");
});
