// A click must mean the card that a person saw. A card's choices are inert while it has just appeared, moved, or come back into
// view, when what it asks was replaced, and for a moment after that: what was aimed at something else does nothing (R-INT-08).
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

export const settleMs = 700;
const lookEvery = 100;

export interface Box { x: number; y: number; width: number; height: number }

/** Whether a card has stood still long enough. Pure but for what it remembers. */
export class Steady {
  private box: Box | undefined;
  private since = -Infinity;

  /** Takes in where the card is (undefined: not to be seen) and answers whether it may be used. */
  look(box: Box | undefined, now: number): boolean {
    if (!box || !this.box || Math.abs(box.x - this.box.x) > 1 || Math.abs(box.y - this.box.y) > 1 || Math.abs(box.width - this.box.width) > 1 || Math.abs(box.height - this.box.height) > 1) {
      this.box = box;
      this.since = box ? now : Infinity;
      return false;
    }
    return now - this.since >= settleMs;
  }

  /** Begins anew. */
  reset(): void {
    this.box = undefined;
    this.since = Infinity;
  }
}

/** armed says whether the part of the page that ref marks has stood still and asks the same; check looks once more, right now. */
export function useArmed(ref: RefObject<HTMLElement | null>, active: boolean, asked: string): { armed: boolean; check: () => boolean } {
  const [armed, setArmed] = useState(false);
  const [steady] = useState(() => new Steady());
  const look = () => {
    const el = ref.current;
    const r = el && document.visibilityState === "visible" && document.hasFocus() ? el.getBoundingClientRect() : undefined;
    // What the person scrolls has not moved by itself.
    const scrolled = (el?.closest(".dock")?.scrollTop ?? 0) + scrollY;
    return steady.look(r && r.width > 0 ? { x: r.x, y: r.y + scrolled, width: r.width, height: r.height } : undefined, performance.now());
  };
  // Another text in a box of the same size is another card.
  useLayoutEffect(() => {
    steady.reset();
    setArmed(false);
  }, [asked]);
  useEffect(() => {
    if (!active) {
      steady.reset();
      setArmed(false);
      return;
    }
    const tick = () => setArmed(look());
    tick();
    const timer = setInterval(tick, lookEvery);
    // The click that brings a window to the front is not meant for what lies under it.
    const again = () => { steady.reset(); setArmed(false); };
    addEventListener("focus", again);
    document.addEventListener("visibilitychange", again);
    return () => {
      clearInterval(timer);
      removeEventListener("focus", again);
      document.removeEventListener("visibilitychange", again);
    };
  }, [active]);
  return { armed, check: () => active && look() };
}
