// How a request ended, in one line.
import { signal } from "@preact/signals";
import type { Card } from "../contract";
import type { IconName } from "../parts/Icon";
import type { Messages } from "../text";

/** What was chosen in this tab, by card: our name of the choice. Bounded; another tab or a reload does not know it. */
export const chosen = signal<ReadonlyMap<string, string>>(new Map());

export function choose(card: string, name: string): void {
  const next = new Map(chosen.peek()).set(card, name);
  for (const k of next.keys()) {
    if (next.size <= 200) break;
    next.delete(k);
  }
  chosen.value = next;
}

export function settledText(m: Messages, c: Card): { icon: IconName; tone?: "attn" | undefined; text: string } {
  const name = chosen.value.get(c.id);
  switch (c.state) {
    case "answered":
      return { icon: "check", text: name ? m.settledChose(name) : m.settledAnswered };
    case "outcome_unknown":
      return { icon: "half", tone: "attn", text: m.settledUnknown };
    case "resolved":
      return { icon: "ring", text: m.settledElsewhere };
    case "closed":
      return { icon: "ring", text: m.settledClosed };
    case "expired":
      return { icon: "ring", text: m.settledExpired };
    case "generation_ended":
      return { icon: "ring", text: m.settledGeneration };
    case "refused":
      return { icon: "lock", text: m.requestRefused };
  }
  return { icon: "half", tone: "attn", text: m.waitingForYou };
}
