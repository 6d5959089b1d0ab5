// "Needs you": the requests that wait for a person, in order of arrival. The first one is open, the others are one line each.
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../parts/Icon";
import { later } from "../parts/later";
import { num } from "../state/format";
import { live, waiting } from "../state/page";
import { texts } from "../text";

const Ask = later(async () => (await import("../rest")).Ask);

/** Cards that a person opened or folded by hand. */
const hand = signal<ReadonlyMap<string, boolean>>(new Map());

export function Dock() {
  const m = texts.value;
  const list = waiting.value;
  const held = useRef<string | undefined>(undefined); // the card that has the focus in it
  useLayoutEffect(() => {
    const ids = new Set(list.map((c) => c.id));
    const next = new Map([...hand.peek()].filter(([id]) => ids.has(id)));
    if (next.size !== hand.peek().size) hand.value = next;
    // Focus never moves by itself, except when what had it is gone.
    if (held.current !== undefined && !ids.has(held.current)) {
      held.current = undefined;
      if (document.activeElement === document.body || document.activeElement === null) (document.getElementById("h-needs") ?? document.getElementById("composer"))?.focus();
    }
  }, [list]);
  if (list.length === 0) return null;
  return (
    <section class="dock" id="needs" aria-labelledby="h-needs" tabIndex={-1}
      onFocusIn={(e) => { held.current = e.target instanceof Element ? e.target.closest<HTMLElement>("[data-card]")?.dataset["card"] : undefined; }}
      onFocusOut={(e) => { if (e.relatedTarget) held.current = undefined; }}>
      <div class="col">
        <h2 class="dock-h" id="h-needs" tabIndex={-1}><Icon name="half" tone="attn" /><span>{m.needsYou}</span> <span class="count">{num(list.length)}</span></h2>
        {live.value ? null : <p class="muted">{m.needsYouStale}</p>}
        {list.map((c, i) => (
          <Ask key={c.id} card={c} open={hand.value.get(c.id) ?? i === 0} onToggle={(o) => { hand.value = new Map(hand.value).set(c.id, o); }} />
        ))}
      </div>
    </section>
  );
}
