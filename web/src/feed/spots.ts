// Where the reader is in each thread, and how high rows were: kept while a thread is not shown. Bounded.

export interface Spot {
  /** At the end: what comes is followed. */
  stuck: boolean;
  /** How far below the reader's view the scrolled content goes on then; in a low window other parts follow the transcript. */
  below?: number | undefined;
  /** The row at the upper edge, and where it begins, in CSS px from the edge. */
  anchor?: { id: string; offset: number } | undefined;
}

const maxSpots = 100, maxHeights = 20_000;
const spots = new Map<string, Spot>();
const heights = new Map<string, number>();

export function spotOf(thread: string): Spot {
  const s = spots.get(thread) ?? { stuck: true };
  keep(spots, thread, s, maxSpots);
  return s;
}

export function heightOf(row: string): number | undefined {
  return heights.get(row);
}

/** Notes a measured height; false: it is what it was. */
export function setHeight(row: string, height: number): boolean {
  if (Math.abs((heights.get(row) ?? -1) - height) <= 0.5) return false;
  keep(heights, row, height, maxHeights);
  return true;
}

export function forgetPlaces(): void {
  spots.clear();
  heights.clear();
}

function keep<V>(map: Map<string, V>, key: string, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  for (const k of map.keys()) {
    if (map.size <= max) break;
    map.delete(k);
  }
}
