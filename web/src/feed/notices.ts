// Notices as they are shown: what is said again and again is one line with its count, and of many only the last ones. Pure.
import type { Notice } from "../contract";

export interface Said {
  /** The last time it was said. */
  readonly notice: Notice;
  readonly times: number;
}

const words = (n: Notice) => JSON.stringify([n.kind, n.thread ?? "", n.shown ?? "", n.problem?.code ?? "", n.problem?.variant ?? "", n.problem?.args ?? {}]);

/** The last max different notices, in the order in which they were said last, and how many are left out before them. */
export function grouped(list: readonly Notice[], max: number): { said: Said[]; left: number } {
  const by = new Map<string, Said>();
  for (const n of list) {
    const key = words(n), before = by.get(key);
    by.delete(key); // what is said again moves to the end
    by.set(key, { notice: n, times: (before?.times ?? 0) + 1 });
  }
  const all = [...by.values()], said = all.slice(-max);
  return { said, left: all.slice(0, all.length - said.length).reduce((n, s) => n + s.times, 0) };
}
