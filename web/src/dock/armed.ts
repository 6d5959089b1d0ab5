// A click must mean the card that a person saw. A card's choices are inert while it has just appeared, moved on the screen by
// anything but the person's own scrolling, or come back into view, when what it asks was replaced, and for a moment after that:
// what was aimed at something else does nothing (R-INT-08).
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { follow, Hand } from "./hand";

export const settleMs = 700;
const lookEvery = 100;

/** Where a card is: on the screen, how far what holds it is scrolled, and how far that can be. */
export interface Place { x: number; y: number; width: number; height: number; scroll: number; room: number }

const differ = (a: number, b: number) => Math.abs(a - b) > 1;

/** Whether a card has stood still long enough. Pure but for what it remembers. */
export class Steady {
  private place: Place | undefined;
  private since = -Infinity;

  /**
   * Takes in where the card is (undefined: not to be seen) and answers whether it may be used. What the person scrolls, byHand,
   * has not moved by itself, but only if nothing else accounts for it: what is scrolled keeps its length.
   */
  look(place: Place | undefined, now: number, byHand: boolean): boolean {
    const was = this.place;
    if (!place || !was || differ(place.x, was.x) || differ(place.width, was.width) || differ(place.height, was.height) ||
      differ(place.y + place.scroll, was.y + was.scroll) || (differ(place.y, was.y) && !(byHand && place.room === was.room))) {
      this.place = place;
      this.since = place ? now : Infinity;
      return false;
    }
    // Its place in what is scrolled stays the one that it was first seen at: many small steps are a move, too.
    this.place = differ(place.y, was.y) ? { ...was, y: place.y, scroll: was.y + was.scroll - place.y } : { ...was, room: place.room };
    return now - this.since >= settleMs;
  }

  /** Begins anew. */
  reset(): void {
    this.place = undefined;
    this.since = Infinity;
  }
}

/** armed says whether the part of the page that ref marks has stood still and asks the same; check looks once more, right now. */
export function useArmed(ref: RefObject<HTMLElement | null>, active: boolean, asked: string): { armed: boolean; check: () => boolean } {
  const [armed, setArmed] = useState(false);
  const [steady] = useState(() => new Steady());
  const hand = useRef(new Hand()), foreign = useRef(0);
  const look = () => {
    const el = ref.current, box = el?.closest(".dock"), root = document.documentElement, now = performance.now();
    const r = el && document.visibilityState === "visible" && document.hasFocus() ? el.getBoundingClientRect() : undefined;
    const byHand = hand.current.scrolls(now) && hand.current.foreign === foreign.current;
    foreign.current = hand.current.foreign;
    return steady.look(r && r.width > 0 ? {
      x: r.x, y: r.y, width: r.width, height: r.height, scroll: (box?.scrollTop ?? 0) + scrollY,
      room: (box ? box.scrollHeight - box.clientHeight : 0) + root.scrollHeight - root.clientHeight,
    } : undefined, now, byHand);
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
    hand.current = new Hand();
    tick();
    const timer = setInterval(tick, lookEvery);
    const leave = follow(hand.current, ref.current?.closest(".dock") ?? null, tick);
    // The click that brings a window to the front is not meant for what lies under it.
    const again = () => { steady.reset(); setArmed(false); };
    addEventListener("focus", again);
    document.addEventListener("visibilitychange", again);
    return () => {
      clearInterval(timer);
      leave();
      removeEventListener("focus", again);
      document.removeEventListener("visibilitychange", again);
    };
  }, [active]);
  return { armed, check: () => active && look() };
}
