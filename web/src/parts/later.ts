// Parts of the page that its first screen does not need. They are read when they are needed, and otherwise once that screen is
// painted: a worker that is gone later takes none of them away.
import { signal } from "@preact/signals";
import { createElement, type ComponentType } from "preact";

const all: (() => Promise<unknown>)[] = [];

/** Has something read when there is time for it. */
export function inTime(read: () => Promise<unknown>): void {
  all.push(read);
}

/** A component that is read later. Until it is there it draws nothing. */
export function later<P extends object>(read: () => Promise<ComponentType<P>>): ComponentType<P> {
  const there = signal<ComponentType<P> | undefined>(undefined);
  let reading: Promise<unknown> | undefined;
  const get = () => (reading ??= read().then((c) => { there.value = c; }, () => { reading = undefined; })); // a later drawing tries again
  inTime(get);
  return function Later(props: P) {
    const part = there.value;
    if (part) return createElement(part, props);
    void get();
    return null;
  };
}

/** Reads everything, one after the other, when the browser has nothing else to do. */
export function startLater(): void {
  const idle = globalThis.requestIdleCallback ?? ((f: () => void) => setTimeout(f, 200)); // Safari has none
  const next = () => {
    const read = all.shift();
    if (read) idle(() => void read().catch(() => undefined).finally(next));
  };
  requestAnimationFrame(() => setTimeout(next)); // after the first painting
}
