// Which rows of a long list are in the document. Pure.

/** Rows [start, end) are drawn; gap is the height in CSS px that stands for the rows left out before them. */
export interface Run {
  start: number;
  end: number;
  gap: number;
}

export interface Plan {
  runs: Run[];
  /** Height of what is left out after the last run. */
  rest: number;
}

export interface View {
  /** Height of each row, measured or estimated, margins included. */
  heights: readonly number[];
  /** Where the viewport is in the list: may be negative above it, or beyond it. */
  top: number;
  height: number;
  /** How much is drawn above and below the viewport; one viewport each gives three in all. */
  margin: number;
  /** Rows that stay drawn wherever they are: the focused one. */
  keep: readonly number[];
}

/** plan draws the rows that reach into the viewport and its margins, the kept ones, and at least one row. */
export function plan(v: View): Plan {
  const n = v.heights.length;
  if (n === 0) return { runs: [], rest: 0 };
  const from = v.top - v.margin, to = v.top + v.height + v.margin;
  let start = n, end = 0, at = 0;
  for (let i = 0; i < n; i++) {
    const h = v.heights[i] ?? 0;
    if (at + h > from && at < to) {
      start = Math.min(start, i);
      end = i + 1;
    }
    at += h;
  }
  if (start >= end) {
    start = from >= at ? n - 1 : 0;
    end = start + 1;
  }
  const wanted: [number, number][] = [[start, end]];
  for (const k of v.keep) if (k >= 0 && k < n && (k < start || k >= end)) wanted.push([k, k + 1]);
  wanted.sort((a, b) => a[0] - b[0]);
  const runs: Run[] = [];
  let done = 0;
  for (const [s, e] of wanted) {
    const last = runs[runs.length - 1];
    if (last && s <= last.end) {
      last.end = Math.max(last.end, e);
    } else {
      runs.push({ start: s, end: e, gap: sum(v.heights, done, s) });
    }
    done = Math.max(done, e);
  }
  return { runs, rest: sum(v.heights, done, n) };
}

export function sum(heights: readonly number[], from: number, to: number): number {
  let total = 0;
  for (let i = from; i < to; i++) total += heights[i] ?? 0;
  return total;
}

/**
 * joined keeps rows on the screen that a shorter window no longer has: when next begins in the middle of held, what held has
 * before that stays in front.
 */
export function joined<T extends { id: string }>(held: readonly T[], next: readonly T[]): readonly T[] {
  const first = next[0];
  if (!first || held.length === 0) return next;
  const at = held.findIndex((h) => h.id === first.id);
  return at > 0 ? [...held.slice(0, at), ...next] : next;
}
