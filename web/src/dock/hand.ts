// Whether it is the person who scrolls, as far as that can be known: no browser says who did. In doubt it was the page.

// How long after a turn of the wheel, a finger's move or a key its scrolling may begin, and go on at most; all scroll smoothly.
const beginMs = 250, endMs = 1000;
/** Scrolling that goes on pauses no longer than this. */
const pauseMs = 150;
/** How long it may roll on after the finger has left the screen. */
const rollMs = 4000;

/** Takes in what the person does and what scrolls. Pure but for what it remembers. */
export class Hand {
  private until = -Infinity; // what scrolls up to then was begun by the person
  private end = -Infinity; // and until never gets beyond this
  private drags = false;
  /** How often something scrolled that was not the person's doing. */
  foreign = 0;

  /** The wheel was turned, a finger moved, or a key pressed that scrolls. */
  push(now: number): void {
    this.until = now + beginMs;
    this.end = now + endMs;
  }

  /** A finger that moved has left the screen. */
  roll(now: number): void {
    if (now > this.until) return;
    this.until = now + pauseMs;
    this.end = now + rollMs;
  }

  /** A finger stops what rolls; whether it scrolls or presses is not known yet. */
  touch(): void {
    this.until = -Infinity;
  }

  /** A scrollbar was taken, or is not held any more. */
  drag(on: boolean, now: number): void {
    if (this.drags && !on) this.until = this.end = now + pauseMs;
    this.drags = on;
  }

  scrolled(now: number): void {
    if (!this.scrolls(now)) this.foreign++;
    else if (!this.drags) this.until = Math.max(this.until, Math.min(this.end, now + pauseMs));
  }

  /** Whether what scrolls right now does so by the person's hand. */
  scrolls(now: number): boolean {
    return this.drags || now <= this.until;
  }
}

/** What has the focus: something to write in, another control, or neither. */
export type At = "text" | "control" | "page";

/** Whether a key scrolls, or moves the focus, which scrolls to it. One that is typed or presses a button does not. */
export function scrollsBy(key: string, at: At): boolean {
  switch (key) {
    case "Tab":
    case "PageUp":
    case "PageDown":
      return true;
    case "ArrowUp":
    case "ArrowDown":
    case "ArrowLeft":
    case "ArrowRight":
    case "Home":
    case "End":
      return at !== "text";
    case " ":
      return at === "page";
  }
  return false;
}

function focusAt(el: Element): At {
  if (el.closest("textarea, select, [contenteditable], input:not([type=checkbox], [type=radio])")) return "text";
  return el.closest("button, input, summary, a, [role=button], [role=link]") ? "control" : "page";
}

/** Whether a press is on a scrollbar of what it is on: beside the content. */
function onScrollbar(e: PointerEvent, el: Element): boolean {
  if (el === document.documentElement) return e.clientX >= el.clientWidth || e.clientY >= el.clientHeight;
  const r = el.getBoundingClientRect(), x = e.clientX - r.left - el.clientLeft;
  return el.scrollHeight > el.clientHeight && (x < 0 || x >= el.clientWidth); // on the left in writing from right to left
}

/** Follows the person's hand on box and on the page around it, and tells whenever one of these scrolls, until it is stopped. */
export function follow(hand: Hand, box: Element | null, scrolled: () => void): () => void {
  const off = new AbortController(), root = document.documentElement;
  const on = <K extends keyof WindowEventMap>(type: K, f: (e: WindowEventMap[K], now: number) => void) =>
    addEventListener(type, (e) => { if (e.isTrusted) f(e, performance.now()); }, { capture: true, passive: true, signal: off.signal });
  // What is done elsewhere scrolls box or the page only if the page is what scrolls there.
  const here = (e: Event) => e.target === document.body || e.target === root || root.scrollHeight > root.clientHeight || (e.target instanceof Node && !!box?.contains(e.target));
  on("wheel", (e, now) => { if (!e.ctrlKey && here(e)) hand.push(now); });
  on("keydown", (e, now) => {
    hand.drag(false, now); // a scrollbar that is dragged keeps the hand from the keys
    if (e.altKey || e.ctrlKey || e.metaKey || !(e.target instanceof Element)) return;
    if (scrollsBy(e.key, focusAt(e.target)) && (e.key === "Tab" || here(e))) hand.push(now);
  });
  on("touchstart", () => hand.touch());
  on("touchmove", (e, now) => { if (here(e)) hand.push(now); });
  on("touchend", (_, now) => hand.roll(now));
  on("touchcancel", (_, now) => hand.roll(now));
  // While a scrollbar is dragged nothing is sent, in some browsers not even that it was let go: what comes next tells.
  const freed = (e: PointerEvent, now: number) => { if (e.pointerType !== "touch" && e.buttons === 0) hand.drag(false, now); };
  on("pointerdown", (e, now) => hand.drag(e.pointerType !== "touch" && e.target instanceof Element && here(e) && onScrollbar(e, e.target), now));
  on("pointermove", freed);
  on("pointerup", freed);
  on("scroll", (e, now) => {
    if (e.target !== document && e.target !== box) return;
    hand.scrolled(now);
    scrolled();
  });
  return () => off.abort();
}
