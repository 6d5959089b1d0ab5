// What a reader did to single items: opened, closed, asked to see whole. Kept outside the components, because the window takes
// those away. Bounded.
import { signal } from "@preact/signals";
import type { Item, Problem } from "../contract";
import { ask } from "../state/page";

const maxFolds = 2000, maxWhole = 20;

const folds = signal<ReadonlyMap<string, boolean>>(new Map());

export function isOpen(key: string, byDefault: boolean): boolean {
  return folds.value.get(key) ?? byDefault;
}

export function setOpen(key: string, open: boolean): void {
  const next = new Map(folds.peek());
  next.delete(key);
  next.set(key, open);
  for (const k of next.keys()) {
    if (next.size <= maxFolds) break;
    next.delete(k);
  }
  folds.value = next;
}

export interface Whole {
  item?: Item;
  problem?: Problem | "lost";
  busy?: boolean;
}

/** Items read whole, by thread and id. */
export const whole = signal<ReadonlyMap<string, Whole>>(new Map());

export const key = (thread: string, item: string) => thread + "\n" + item;

function put(k: string, w: Whole | undefined): void {
  const next = new Map(whole.peek());
  next.delete(k);
  if (w) next.set(k, w);
  for (const old of next.keys()) {
    if (next.size <= maxWhole) break;
    next.delete(old);
  }
  whole.value = next;
}

export async function readWhole(thread: string, item: string): Promise<Item | undefined> {
  const k = key(thread, item);
  put(k, { busy: true });
  const r = await ask("item.read", { thread, item });
  if (r.done && r.value) {
    put(k, { item: r.value });
    return r.value;
  }
  put(k, { problem: (!r.done && r.problem) || "lost" });
  return undefined;
}

/** Another owner's items are forgotten. */
export function forgetItems(): void {
  folds.value = new Map();
  whole.value = new Map();
}

export function forgetWhole(thread: string, item: string): void {
  put(key(thread, item), undefined);
}
